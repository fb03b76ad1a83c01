"""The whole audit as Markdown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date

from atomworld_env.audit.answers import AnswerKind, Group
from atomworld_env.audit.bounds import BOUNDED_SCHEMES, Breach
from atomworld_env.audit.exploits import ALARM, NEEDS_NOTHING
from atomworld_env.audit.measure import Audit
from atomworld_env.audit.report_tables import Lines, by_action, means, of_groups, paragraph, successes, table
from atomworld_env.audit.summary import HEADINGS, NONE, Setting, worst_rows
from atomworld_env.families.registry import FAMILIES

HOLDS = "Both bounds hold on every kind of task."
TITLE = "# What wrong answers earn"


def as_markdown(audit: Audit, broken: Sequence[Breach], setting: Setting) -> str:
    """The report: how it was made, whether the bounds hold, and every mean."""
    verdict = [HOLDS]
    if broken:
        verdict = ["**Bounds that do not hold:**", "", *(f"- {breach}" for breach in broken)]
    lines = [
        TITLE + ("" if setting.family == "edits" else f": {FAMILIES[setting.family].env_id}"),
        "",
        *paragraph(
            f"Written on {date.today()}, {os.cpu_count()} cores, by the command below. {_tasks(audit, setting)}"
            f"{audit.strict_answers:,} answers verified under the strict profile "
            f"({_speed(audit.strict_seconds, audit.strict_answers)})"
            + (
                f", {audit.paper_answers:,} under the paper profile "
                f"({_speed(audit.paper_seconds, audit.paper_answers)})."
                if audit.paper_answers
                else "."
            )
        ),
        "",
        f"    {setting.command}",
        "",
        *verdict,
        "",
        *_answers_section(audit),
    ]
    for scheme in audit.schemes:
        if scheme in BOUNDED_SCHEMES:
            lines += _bounds_section(audit, scheme)
    lines += _symmetry_section(audit)
    lines += _unbounded_section(audit)
    if "distance" in audit.schemes:
        lines += _distance_section(audit)
    if "paper" in audit.schemes and audit.paper_answers:
        lines += _paper_section(audit, setting)
    return "\n".join(lines).rstrip("\n") + "\n"


def _tasks(audit: Audit, setting: Setting) -> str:
    """How many tasks there are, of what kinds."""
    tasks, number = len(audit.suite.tasks), len(audit.actions)
    of_each = sorted({sum(task.action == action for task in audit.suite.tasks) for action in audit.actions})
    each = f"{of_each[0]}" if len(of_each) == 1 else f"{of_each[0]} to {of_each[-1]}"
    apart = ", every one of an edit on another structure" if setting.family == "edits" else ""
    return (
        f"{tasks:,} tasks for {FAMILIES[setting.family].env_id}, {each} of each of {number} kinds{apart}, of the test "
        f"split (fingerprint `{audit.suite.fingerprint}`). "
    )


_SAID = {
    Group.IGNORANT: (
        "*Ignorant* answers are made without the instruction. In the mean over a kind of task they may earn the parse "
        "credit and 0.01 (0.06 in all), and may never succeed."
    ),
    Group.SPOILED: (
        "*Spoiled* truths are right answers made wrong as a whole. They may earn the parse credit, the composition "
        "credit where the task changes the composition, and 0.05 (0.30 or 0.10 in all), and may never succeed."
    ),
    Group.NEAR_MISS: "*Near misses* are measured and not bounded.",
    Group.EXPLOIT: "*Exploits* are measured and not bounded.",
}


def _answers_section(audit: Audit) -> Lines:
    return [
        "## The answers",
        "",
        *paragraph(" ".join(words for group, words in _SAID.items() if of_groups(audit, group))),
        "",
        *table(
            ["answer", "group", "what it is", "tasks of each kind"],
            [
                [f"`{kind.name}`", str(kind.group), kind.description, str(kind.most_per_action or "all")]
                for kind in audit.kinds
            ],
        ),
    ]


def _bounds_section(audit: Audit, scheme: str) -> Lines:
    kinds = of_groups(audit, Group.IGNORANT, Group.SPOILED)
    lines = [
        f"## Bounds under `{scheme}`",
        "",
        *paragraph(
            "For each answer: the kind of task on which it comes nearest to its bound, with its mean and bound; "
            "and over all kinds the highest single reward, the answers, how many of them were right, and how "
            "many were left out because symmetry makes them right."
        ),
        "",
        *table(HEADINGS, worst_rows(audit, kinds, scheme)),
    ]
    if scheme == "shaped":
        lines += ["Mean on each kind:", "", *by_action(audit, kinds, means(audit, scheme))]
    return lines


def _symmetry_section(audit: Audit) -> Lines:
    kinds = [kind for kind in audit.kinds if kind.symmetric]
    scheme = next((name for name in audit.schemes if name != "paper"), None)
    if scheme is None or not kinds:
        return []

    def share(kind: AnswerKind, action: str) -> str:
        tally = audit.tally(kind.name, action, scheme)
        asked = tally.answers + tally.left_out
        return f"{100 * tally.left_out / asked:.1f} % ({tally.left_out})" if asked else NONE

    return [
        "## Where symmetry makes them right",
        "",
        *paragraph(
            "A mirrored or inverted crystal is the same crystal, in the same place and orientation, where "
            "its symmetry says so. Such an answer is right, and is left out of the means. Share and "
            "number on each kind:"
        ),
        "",
        *by_action(audit, kinds, share),
    ]


def _unbounded_section(audit: Audit) -> Lines:
    lines: Lines = []
    schemes = [name for name in ("shaped", "distance") if name in audit.schemes]
    near, exploits = of_groups(audit, Group.NEAR_MISS), of_groups(audit, Group.EXPLOIT)
    if near and schemes:
        lines += [
            "## Near misses",
            "",
            *paragraph("Those that happen to be right (by luck, or because two sites are alike) are counted in."),
            "",
        ]
        for scheme in schemes:
            lines += [
                f"Mean on each kind under `{scheme}`:",
                "",
                *by_action(audit, near, means(audit, scheme)),
            ]
        lines += [
            *paragraph("Right under the strict profile:"),
            "",
            *by_action(audit, near, successes(audit, schemes[0])),
        ]
    if exploits and schemes:
        lines += [
            "## Exploits",
            "",
            *paragraph(
                "What a policy earns that collects credit instead of solving the task, by what it has to "
                f"know for it. In bold: more than {ALARM:.2f} in the mean on a kind of task. Answers that happen "
                "to be right are counted in."
            ),
            "",
            *table(["answer", "has to know"], [[f"`{kind.name}`", kind.needs] for kind in exploits]),
        ]
        for scheme in schemes:
            shown = means(audit, scheme, bold_above=ALARM)
            lines += [f"Mean on each kind under `{scheme}`:", "", *by_action(audit, exploits, shown)]
        lines += [
            *paragraph("Right under the strict profile:"),
            "",
            *by_action(audit, exploits, successes(audit, schemes[0])),
        ]
        found = alarms(audit, schemes[0])
        lines += [
            *paragraph(f"Above {ALARM:.2f} under `{schemes[0]}` with nothing known: {', '.join(found) or 'none'}."),
            "",
        ]
    return lines


def alarms(audit: Audit, scheme: str) -> list[str]:
    """Exploits that know nothing of the answer and earn more than the alarm on a kind of task."""
    found = []
    for kind in of_groups(audit, Group.EXPLOIT):
        for action in audit.actions:
            tally = audit.tally(kind.name, action, scheme)
            if kind.needs == NEEDS_NOTHING and tally.mean is not None and tally.mean > ALARM:
                right = f"{tally.successes} of {tally.answers} right"
                found.append(f"`{kind.name}` on {action} ({tally.mean:.3f}, {right})")
    return found


def _distance_section(audit: Audit) -> Lines:
    copy = [kind for kind in audit.kinds if kind.name == "copy"]
    if not any(audit.tally("copy", action, "distance").total for action in audit.actions):
        return []
    return [
        "## What `distance` pays for copying",
        "",
        *paragraph(
            "The scheme `distance` pays for being near, and a copy is near wherever the task keeps the "
            "composition: an attempt that puts an atom farther from its place earns less than no attempt. "
            "Copying is a local optimum under it, so it is not for training. Mean on each kind:"
        ),
        "",
        *by_action(audit, copy, means(audit, "distance")),
    ]


def _paper_section(audit: Audit, setting: Setting) -> Lines:
    return [
        "## The scheme `paper`",
        "",
        *paragraph(
            f"Share that the paper profile calls right, on the first {setting.paper_per_action} tasks of "
            "each kind. It accepts what is shifted, mirrored or scaled as a whole. For comparison with "
            "published numbers, not for training."
        ),
        "",
        *by_action(audit, audit.kinds, means(audit, "paper")),
    ]


def _speed(seconds: float, answers: int) -> str:
    return f"{1000 * seconds / answers:.1f} s per 1,000" if answers else "not asked"
