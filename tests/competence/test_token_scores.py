"""Ranks and log-probabilities of tokens, against one text at a time, sorted by brute force."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import rankdata

from atomworld_env.competence import token_scores
from atomworld_env.competence.pairs import Pair
from atomworld_env.competence.token_scores import TextScore, Tokens, context_of, score_all, tokens_of

torch = pytest.importorskip("torch")


def tokens(tokenizer: Any, pairs: tuple[Pair, ...]) -> list[Tokens]:
    return [tokens_of(tokenizer, pair.text(true), *pair.changed(true)) for pair in pairs for true in (True, False)]


def scores(network: Any, texts: list[Tokens], batch_size: int = 4) -> list[TextScore]:
    return [score for _, score in sorted(score_all(network, texts, padding=0, batch_size=batch_size))]


def brute_force(network: Any, text: Tokens) -> TextScore:
    """Without a batch, a mask or a trick: all logits in float64, sorted."""
    with torch.inference_mode():
        logits = network(input_ids=torch.tensor([text.ids])).logits[0, :-1].float().numpy().astype(float)
    wanted = text.ids[1:]
    ranks = np.array([rankdata(-row)[token] for row, token in zip(logits, wanted, strict=True)])
    likelihoods = log_softmax(logits, axis=1)[np.arange(len(wanted)), wanted]
    changed = np.array(text.changed)
    return TextScore(
        len(wanted), int(changed.sum()), ranks.mean(), likelihoods.mean(), ranks[changed].mean(),
        likelihoods[changed].mean(),
    )  # fmt: skip


def assert_alike(found: TextScore, expected: TextScore, tolerance: float) -> None:
    assert vars(found) == pytest.approx(vars(expected), rel=tolerance)


@pytest.mark.parametrize("batch_size", [1, 3, 16])
def test_scores_are_those_of_each_text_alone(
    random_network: Any, byte_tokenizer: Any, few_pairs: tuple[Pair, ...], batch_size: int
) -> None:
    texts = tokens(byte_tokenizer, few_pairs[:4])
    for found, text in zip(scores(random_network, texts, batch_size), texts, strict=True):
        assert_alike(found, brute_force(random_network, text), 1e-5)


def test_bfloat16_ties_count_as_their_mean_rank(
    random_network: Any, byte_tokenizer: Any, few_pairs: tuple[Pair, ...]
) -> None:
    from copy import deepcopy

    halved = deepcopy(random_network).to(torch.bfloat16)
    texts = tokens(byte_tokenizer, few_pairs[:2])
    for found, text in zip(scores(halved, texts, 1), texts, strict=True):
        assert_alike(found, brute_force(halved, text), 1e-4)


def test_equal_logits_give_the_middle_rank(byte_tokenizer: Any, few_pairs: tuple[Pair, ...]) -> None:
    vocabulary = len(byte_tokenizer)

    def network(*, input_ids: Any, **_: Any) -> Any:
        return SimpleNamespace(logits=torch.zeros((*input_ids.shape, vocabulary)))

    network.config, network.device = SimpleNamespace(vocab_size=vocabulary), "cpu"  # type: ignore[attr-defined]
    (found, *_) = scores(network, tokens(byte_tokenizer, few_pairs[:1]))
    assert found.mean_rank == (vocabulary + 1) / 2
    assert found.mean_log_likelihood == pytest.approx(-np.log(vocabulary), rel=1e-6)


def test_the_changed_tokens_are_those_of_the_sentence(byte_tokenizer: Any, few_pairs: tuple[Pair, ...]) -> None:
    for pair in few_pairs:
        for true, sentence in ((True, pair.sentence), (False, pair.foreign)):
            text = tokens_of(byte_tokenizer, pair.text(true), *pair.changed(true))
            marked = [token for token, changed in zip(text.ids[1:], text.changed, strict=True) if changed]
            assert byte_tokenizer.decode(marked) == sentence
            assert all(text.scored)
            assert len(text.ids) == len(pair.text(true).encode())


def test_a_token_of_the_tokenizer_makes_the_first_of_the_text_count(byte_tokenizer: Any) -> None:
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    begun = PreTrainedTokenizerFast(tokenizer_object=byte_tokenizer.backend_tokenizer.__class__.from_str(
        byte_tokenizer.backend_tokenizer.to_str()
    ), pad_token="<pad>", bos_token="<begin>")  # fmt: skip
    begun.backend_tokenizer.post_processor = TemplateProcessing(
        single="<begin> $A <pad>", special_tokens=[("<begin>", 1), ("<pad>", 0)]
    )
    text = tokens_of(begun, "NaCl is salt. It is white.", 14, 26)
    assert text.ids[0] == 1
    assert text.scored == (True,) * 26 + (False,)  # what the tokenizer puts at the end is not of the text
    assert [place for place, changed in enumerate(text.changed) if changed] == list(range(14, 26))


def test_a_slow_tokenizer_marks_the_same_tokens(byte_tokenizer: Any, few_pairs: tuple[Pair, ...]) -> None:
    class Slow:
        is_fast = False
        unk_token_id = None
        all_special_ids = (0, 1)

        def __call__(self, text: str) -> Any:
            return {"input_ids": byte_tokenizer(text)["input_ids"]}

    for pair in few_pairs[:6]:
        fast = tokens_of(byte_tokenizer, pair.text(True), *pair.changed(True))
        slow = tokens_of(Slow(), pair.text(True), *pair.changed(True))
        assert slow.ids == fast.ids
        # It counts the blank before the sentence with the sentence, as vocabularies with " In" do.
        assert sum(slow.changed) == sum(fast.changed) + 1


def test_a_tokenizer_without_the_characters_is_refused() -> None:
    class Lacking:
        is_fast = False
        unk_token_id = 7
        all_special_ids = (7,)

        def __call__(self, text: str) -> Any:
            return {"input_ids": [7] * len(text.split())}

    with pytest.raises(ValueError, match=r"^the tokenizer of this model has no tokens for some of the texts[^\n]*$"):
        tokens_of(Lacking(), "a b. c d.", 5, 9)


def test_a_batch_that_does_not_fit_is_halved(
    random_network: Any, byte_tokenizer: Any, few_pairs: tuple[Pair, ...]
) -> None:
    class Small:
        config, device = random_network.config, random_network.device

        def __call__(self, *, input_ids: Any, **others: Any) -> Any:
            if len(input_ids) > 1:
                raise RuntimeError("CUDA out of memory")
            return random_network(input_ids=input_ids, **others)

    texts = tokens(byte_tokenizer, few_pairs[:2])
    assert scores(Small(), texts, 4) == scores(random_network, texts, 1)


def test_one_text_that_does_not_fit_is_an_error(byte_tokenizer: Any, few_pairs: tuple[Pair, ...]) -> None:
    def network(**_: Any) -> Any:
        raise RuntimeError("CUDA out of memory")

    network.config, network.device = SimpleNamespace(vocab_size=300), "cpu"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"^the memory does not hold the model and one text"):
        scores(network, tokens(byte_tokenizer, few_pairs[:1]))


def test_output_that_is_not_finite_is_an_error(byte_tokenizer: Any, few_pairs: tuple[Pair, ...]) -> None:
    def network(*, input_ids: Any, **_: Any) -> Any:
        return SimpleNamespace(logits=torch.full((*input_ids.shape, 300), float("nan")))

    network.config, network.device = SimpleNamespace(vocab_size=300), "cpu"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"^the model's output is not finite"):
        scores(network, tokens(byte_tokenizer, few_pairs[:1]))


def test_batches_are_bounded_by_the_size_of_their_logits(
    monkeypatch: pytest.MonkeyPatch, random_network: Any, byte_tokenizer: Any, few_pairs: tuple[Pair, ...]
) -> None:
    rows: list[int] = []

    class Watched:
        config, device = random_network.config, random_network.device

        def __call__(self, *, input_ids: Any, **others: Any) -> Any:
            rows.append(len(input_ids))
            return random_network(input_ids=input_ids, **others)

    texts = tokens(byte_tokenizer, few_pairs[:3])
    longest = max(len(text.ids) for text in texts)
    monkeypatch.setattr(token_scores, "LARGEST_LOGITS", 2 * longest * random_network.config.vocab_size)
    scores(Watched(), texts, 16)
    assert rows[0] == 2
    assert sum(rows) == 6


@pytest.mark.parametrize(
    ("config", "context"),
    [
        (SimpleNamespace(max_position_embeddings=2048), 2048),
        (SimpleNamespace(), None),
        (SimpleNamespace(get_text_config=lambda: SimpleNamespace(max_position_embeddings=512)), 512),
    ],
)
def test_the_context_is_that_of_the_language_model(config: Any, context: int | None) -> None:
    assert context_of(SimpleNamespace(config=config)) == context
