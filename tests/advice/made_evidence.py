"""Evidence with known answers, for the tests of the advice."""

from sizewise.advice.evidence_table import ArmScore, EvidenceSet, Kind
from sizewise.advice.features import Features

REFERENCE = Kind("DiceCE")


def features(share=0.1, *, components=1.0, smallest_px=100.0, classes=1, spatial_dims=2):
    return Features(share, 0.5, 0.0, components, smallest_px, classes, spatial_dims)


def arm(kind, dsc, *, reference=0.8, half=0.002, seeds=3, weight="", decided=None, validation=None):
    """An arm whose gain over the reference has this half width."""
    gain = dsc - reference
    own = 0.0 if kind == REFERENCE else half
    more = {}
    if decided is not None:
        more = {"decided": decided, "decided_low": decided - half, "decided_high": decided + half}
    return ArmScore(
        kind.loss, weight, kind.decision, seeds, dsc, 0.002, gain, gain - own, gain + own, validation=validation, **more
    )


def made_set(name, of, scores, *, half=0.002, own=False):
    """``scores`` by loss or by (loss, decision); DiceCE with argmax is at 0.8."""
    kinds = {Kind(*key) if isinstance(key, tuple) else Kind(key): dsc for key, dsc in scores.items()}
    arms = []
    for kind, dsc in kinds.items():
        plain = kinds.get(Kind(kind.loss)) if kind.decision != "argmax" else None
        arms.append(arm(kind, dsc, half=half, decided=None if plain is None else dsc - plain))
    return EvidenceSet(name, of, tuple(arms), "net", "picture", 50, 1500, 70.0, "a fast GPU", own)


def two_worlds(half=0.002):
    """Small regions, where RCE wins by 3 points, and large ones, where CE does by 1."""
    small = [
        made_set(f"small {at}", features(0.001 * (1 + at / 10)), {"CE": 0.79, "DiceCE": 0.8, "RCE": 0.83}, half=half)
        for at in range(4)
    ]
    large = [
        made_set(f"large {at}", features(0.3 * (1 + at / 10)), {"CE": 0.81, "DiceCE": 0.8, "RCE": 0.78}, half=half)
        for at in range(4)
    ]
    return (*small, *large)
