"""Runs of a second need no plot: drawing one takes as long as they do."""

import pytest


@pytest.fixture
def no_curves(monkeypatch):
    monkeypatch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
