"""Practice pairs: numbered, right, and cut into batches without waste."""

from __future__ import annotations

import pytest

from rewards import verify

pytest.importorskip("torch")
pytest.importorskip("transformers")

from training.small_policy.batches import IGNORED, Batches
from training.small_policy.practice import DEFAULT_SHARES, Curriculum, Practice
from training.small_policy.token_weights import TokenWeights
from training.small_policy.tokenizer import build_tokenizer


def sites(prompt: str) -> int:
    return len(prompt.split("_atom_site_fract_z\n")[1].splitlines())


def test_a_number_gives_one_pair() -> None:
    first, second = (Practice(Curriculum(), seed=4) for _ in range(2))
    assert [first.pair(k) for k in (7, 3, 20_000)] == [second.pair(k) for k in (7, 3, 20_000)]
    assert first.pair(7) != Practice(Curriculum(), seed=5).pair(7)


def test_sizes_grow() -> None:
    curriculum = Curriculum(sites=(2, 6), easy_pairs=1000)
    assert [curriculum.most_sites(number) for number in (0, 199, 200, 999, 10**6)] == [2, 2, 3, 6, 6]
    practice = Practice(curriculum, seed=0)
    assert {sites(practice.pair(number).prompt) for number in range(40)} == {2}
    assert {sites(practice.pair(5000 + number).prompt) for number in range(60)} == {2, 3, 4, 5, 6}


def test_all_edits_are_practised_and_answers_can_be_read() -> None:
    practice = Practice(Curriculum(easy_pairs=0), seed=1)
    pairs = [practice.pair(number) for number in range(80)]
    assert {pair.action for pair in pairs} == set(DEFAULT_SHARES)
    for pair in pairs[:30]:
        answered = pair.answer.removeprefix("<cif>\n").removesuffix("</cif>")
        verdict = verify(pair.answer, answered)
        # Random sites may lie on top of each other, which readers refuse; nothing else may be wrong.
        assert verdict.success_strict or "same place" in verdict.message or "sites" in verdict.message


def test_batches_hold_every_pair_once_and_hardly_any_padding() -> None:
    tokenizer = build_tokenizer(max_length=1024)
    practice = Practice(Curriculum(easy_pairs=0), seed=1)
    batches = Batches(practice, tokenizer, tokens=2048, weights=TokenWeights())
    window = batches.window(3)
    assert sum(len(batch.ids) for batch in window) == 512
    assert all(batch.ids.numel() <= 2048 for batch in window)
    assert sum(batch.real_tokens for batch in window) > 0.96 * sum(batch.ids.numel() for batch in window)
    assert [batch.ids.tolist() for batch in window] == [batch.ids.tolist() for batch in batches.window(3)]


def test_only_the_answer_is_learnt() -> None:
    tokenizer = build_tokenizer(max_length=1024)
    batches = Batches(Practice(Curriculum(easy_pairs=0), seed=1), tokenizer, tokens=2048, weights=TokenWeights())
    batch = batches.window(0)[0]
    for ids, labels in zip(batch.ids, batch.labels, strict=True):
        learnt = labels != IGNORED
        assert ids[learnt].tolist() == labels[learnt].tolist()
        answer = tokenizer.decode(labels[learnt])
        assert answer.startswith("<cif>\ndata_edited")
        assert answer.endswith("</cif><|end|>")
