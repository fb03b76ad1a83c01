"""From a task to the text a model reads."""

from __future__ import annotations

import pytest

from atomworld_env.errors import UsageError
from atomworld_env.prompts.prompt import PromptTemplate, default_template, load_template
from atomworld_env.tasks.sampler import sample_task


@pytest.mark.parametrize(
    "sentence",
    [
        pytest.param("Sites are counted from 0", id="site numbers"),
        pytest.param("label carries that number", id="labels"),
        pytest.param("Cartesian coordinates are in Å", id="units"),
        pytest.param("a points along +x, b lies in the xy-plane with b_y > 0, and c has c_z > 0", id="frame"),
        pytest.param("Angles are in degrees. Rotations are right-handed", id="rotations"),
        pytest.param("use the nearest periodic image", id="images"),
        pytest.param("at least 4 decimals", id="decimals"),
        pytest.param("between <cif> and </cif>", id="tags"),
        pytest.param("space group P 1", id="symmetry"),
    ],
)
def test_the_default_prompt_states_every_convention(sentence):
    assert sentence in default_template().render("STRUCTURE", "INSTRUCTION")


def test_structure_and_instruction_appear_once_and_unchanged():
    task = sample_task("rotate_around", seed=3)
    text = default_template().render(task.structure, task.prompt)
    assert text.count(task.structure.rstrip("\n")) == 1
    assert text.count(task.prompt) == 1
    assert "{structure}" not in text
    assert "{instruction}" not in text


def test_the_target_does_not_appear():
    task = sample_task("move", seed=3)
    text = default_template().render(task.structure, task.prompt)
    given = set(task.structure.splitlines())
    new = [line for line in task.target.splitlines() if "Cartesian" not in line and line not in given]
    assert new
    assert not any(line in text for line in new)


def test_a_template_of_one_s_own():
    template = PromptTemplate("Do {instruction} to\n{structure}\nnow.")
    assert template.render("data_x\n", "this") == "Do this to\ndata_x\nnow."


def test_other_braces_stay():
    template = PromptTemplate('{structure} {instruction} {"json": {}} {other}')
    assert template.render("S", "I") == 'S I {"json": {}} {other}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("{instruction} | {structure}", "a {structure} | b {instruction}", id="instruction first"),
        pytest.param("{structure} | {instruction}", "b {instruction} | a {structure}", id="structure first"),
    ],
)
def test_a_placeholder_inside_the_values_is_not_replaced(text, expected):
    assert PromptTemplate(text).render("b {instruction}", "a {structure}") == expected


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        pytest.param("{instruction}", "{structure}", id="no structure"),
        pytest.param("{structure}", "{instruction}", id="no instruction"),
    ],
)
def test_a_template_without_a_placeholder_is_refused(text, missing, tmp_path):
    with pytest.raises(UsageError, match=missing):
        PromptTemplate(text)
    path = tmp_path / "mine.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=rf"mine\.txt.*{missing}"):
        load_template(path)


def test_a_template_from_a_file(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("Å {structure} {instruction}", encoding="utf-8")
    assert load_template(path).render("S", "I") == "Å S I"
    assert load_template(str(path)) == load_template(path)


@pytest.mark.parametrize(
    "content", [pytest.param(None, id="no file"), pytest.param(b"\xff\xfe {structure}", id="not UTF-8")]
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, content):
    path = tmp_path / "mine.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=r"^[^\n]*mine\.txt[^\n]*$"):
        load_template(path)


def test_messages_in_chat_form():
    template = PromptTemplate("{structure} {instruction}", system="You are terse.")
    assert template.messages("S", "I") == [
        {"role": "system", "content": "You are terse."},
        {"role": "user", "content": "S I"},
    ]
    assert default_template().messages("S", "I") == [{"role": "user", "content": default_template().render("S", "I")}]


def test_messages_are_fresh_objects():
    template = default_template()
    assert template.messages("S", "I")[0] is not template.messages("S", "I")[0]


def test_the_digest_tells_templates_apart():
    one = PromptTemplate("{structure} {instruction}")
    assert one.digest == PromptTemplate("{structure} {instruction}").digest
    assert one.digest != PromptTemplate("{structure}  {instruction}").digest
    assert one.digest != PromptTemplate("{structure} {instruction}", system="Hi.").digest


def test_default_is_a_name():
    assert load_template() is default_template()
    assert load_template("default") is default_template()


def test_a_template_of_ones_own_needs_no_structure_where_there_is_none(tmp_path):
    path = tmp_path / "prompt.txt"
    path.write_text("Do this: {instruction}", encoding="utf-8")
    assert load_template(path, default="cif_gen").render("", "write rutile") == "Do this: write rutile"
    with pytest.raises(UsageError, match=r"lacks \{structure\}"):
        load_template(path)
