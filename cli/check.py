"""`check`: try every configured target once and say in sentences what it is, or what is wrong and what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cli import configs, discover
from cli.probe import ENGINE_LABELS, Probe, look, printable
from cli.words import say
from collectors.scrape.engines import STATISTICS, stranger
from collectors.scrape.http import metrics_url
from collectors.scrape.outcome import Outcome
from pipeline.config import TargetConfig, TargetKind
from settings import Settings, without_password

SKEW_S = 2.0
"""Clock difference worth a word. Nothing depends on it: rates use the node's own monotonic clock."""

ADVICE: Mapping[tuple[TargetKind, Outcome], str] = {
    (TargetKind.NODE, Outcome.REFUSED): "start the agent there (python3 -I -S tachograph-agent.pyz --host ADDRESS)",
    (TargetKind.NODE, Outcome.TIMED_OUT): "is the machine up, and does a firewall let this port through?",
    (TargetKind.NODE, Outcome.UNREACHABLE): "is the address right, and is the machine in this network?",
    (TargetKind.NODE, Outcome.UNAUTHORISED): "the agent wants a token: name its file with --node-token-file",
    (TargetKind.NODE, Outcome.NOT_FOUND): "something else than an agent listens on this port",
    (TargetKind.ENGINE, Outcome.REFUSED): "is the engine running, on this port and not on loopback alone?",
    (TargetKind.ENGINE, Outcome.TIMED_OUT): "is the engine loading, or does a firewall drop the request?",
    (TargetKind.ENGINE, Outcome.UNREACHABLE): "is the address right, and is the machine in this network?",
    (TargetKind.ENGINE, Outcome.UNAUTHORISED): "it wants a token: name its file with --engine-token-file",
    (
        TargetKind.ENGINE,
        Outcome.NOT_FOUND,
    ): "llama-server needs --metrics, SGLang --enable-metrics; a worker node of vLLM has no page",
}
"""What to do about a failure, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a target can be read, and sentences about it."""

    good: bool
    sentences: tuple[str, ...]


def main(settings: Settings) -> int:
    """0 when every target is good, 1 when one is not, or there is none."""
    config = configs.collector(settings)
    targets = (*config.nodes, *config.engines)
    if not targets:
        return nothing_configured()
    verdicts = asyncio.run(_look_at_all(targets))
    for target, verdict in zip(targets, verdicts, strict=True):
        mark = "ok  " if verdict.good else "FAIL"
        say(f"{mark} {target.kind.value} {target.name} ({metrics_url(target.url)})")
        for sentence in verdict.sentences:
            say(f"       {sentence}")
    good = sum(verdict.good for verdict in verdicts)
    say(f"{good} of {len(targets)} targets can be read. Samples would go to {without_password(settings.store)}.")
    return int(good < len(targets))


def nothing_configured(ports: Sequence[int] = discover.PORTS) -> int:
    """Say what `run` would do then; 1, as nothing was checked."""
    say("Nothing is configured: `run` would start an agent for this machine and read it.")
    found = discover.engines(ports)
    for engine in found:
        say(f"It would also read {engine.what} at {engine.url}.")
    if not found:
        say(f"No engine answers on ports {', '.join(map(str, ports))} of this machine.")
    say("Name targets with --node NAME=URL and --engine URL, or in tachograph.toml.")
    return 1


async def _look_at_all(targets: Iterable[TargetConfig]) -> list[Verdict]:
    async def one(target: TargetConfig) -> Verdict:
        return explain(target.kind, await look(target.name, target.url, target.token))

    return list(await asyncio.gather(*(one(target) for target in targets)))


def explain(kind: TargetKind, probe: Probe) -> Verdict:
    """What one look at a target of this kind means."""
    if probe.layout is None:
        advice = ADVICE.get((kind, probe.reply.outcome))
        told = probe.reply.reason if advice is None else f"{probe.reply.reason}: {advice}"
        return Verdict(False, (sentence(told),))
    if probe.is_hub:
        return Verdict(False, ("This is the page of a Tachograph hub: give the address of an agent or an engine.",))
    if kind is TargetKind.NODE and probe.writer in ENGINE_LABELS:
        return Verdict(False, (f"This is no agent but {_what(probe)}: name it with --engine.",))
    if kind is TargetKind.ENGINE and probe.writer == "agent":
        return Verdict(False, ("This is an agent: name it with --node.",))
    strange = stranger(probe.writer, probe.reply.body, probe.reply.content_type, agent=kind is TargetKind.NODE)
    if strange is not None:
        return Verdict(False, (sentence(f"it {strange}"),))
    return _agent(probe) if kind is TargetKind.NODE else _engine(probe)


def sentence(text: str) -> str:
    """The text with a capital at its beginning and one mark at its end."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(("?", ".")) else ".")


def _what(probe: Probe) -> str:
    return ENGINE_LABELS.get(probe.writer, "a page that is not known here")


def _size(probe: Probe) -> str:
    assert probe.layout is not None
    size, milliseconds = len(probe.reply.body) / 1000, probe.reply.seconds * 1000
    refused = probe.layout.refused_series
    return f"{len(probe.layout.series)} series, {size:.1f} kB in {milliseconds:.0f} ms" + (
        f"; {refused} more series are beyond the limit and not read" if refused else ""
    )


def _agent(probe: Probe) -> Verdict:
    facts = _texts(probe.state.get("facts"))
    version = printable(probe.state.get("version", "of unknown version"))
    first = f"Agent {version} on {facts.get('hostname', 'an unnamed machine')}: {_size(probe)}."
    return Verdict(True, (first, *_hardware(facts), *_readings(probe), *_skew(probe)))


def _texts(told: object) -> Mapping[str, str]:
    """A table of facts, whatever an agent sent in its place; unknown ones are left out."""
    if not isinstance(told, dict):
        return {}
    return {name: printable(value) for name, value in told.items() if value is not None}


def _hardware(facts: Mapping[str, str]) -> Iterable[str]:
    gpus = [value for name, value in sorted(facts.items()) if name.startswith("gpu.") and name.endswith(".name")]
    driver = facts.get("driver_version")
    if gpus:
        yield f"GPU: {', '.join(gpus)}" + (f", driver {driver}." if driver else ".")
    cages = {value for name, value in facts.items() if name.startswith("function.") and name.endswith(".cage")}
    if cages:
        yield f"Fabric: {len(cages)} cage{'s' * (len(cages) != 1)} ({', '.join(sorted(cages))})."


def _readings(probe: Probe) -> Iterable[str]:
    """Readings that failed; that there is nothing to read is news only of NVML."""
    told = probe.state.get("readings")
    for name, reading in told.items() if isinstance(told, dict) else ():
        outcome, why = (_texts(reading).get(key, "") for key in ("outcome", "reason"))
        if outcome == "failed" or (name == "nvml" and outcome != "ok"):
            yield f"Its reading of {printable(name)}: {outcome or 'unknown'}{', ' * bool(why)}{why}."


def _skew(probe: Probe) -> Iterable[str]:
    if probe.skew_s is not None and abs(probe.skew_s) >= SKEW_S:
        side = "ahead of" if probe.skew_s > 0 else "behind"
        yield f"Its clock is {abs(probe.skew_s):.1f} s {side} ours; measurements do not depend on it."


def _engine(probe: Probe) -> Verdict:
    facts, statistics = probe.facts, probe.facts.get("statistics")
    version = f" {facts['version']}" if "version" in facts else ""
    model = f" serving {probe.model}" if probe.model else ""
    first = f"{_what(probe)}{version}{model}: {_size(probe)}."
    if statistics is None:
        return Verdict(True, (first,))
    why = STATISTICS.get(statistics, "it answers without statistics")
    return Verdict(statistics == "not yet", (first, sentence(why)))
