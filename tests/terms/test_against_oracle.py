"""Every term with every option, on every kind of target, against the slow oracle."""

import oracle
import pytest
import torch
from cases import ACTIVATIONS, GRIDS, KINDS, SHAPES, all_cases, batch, build, resolve, seed_of
from sampling import sample

import sizewise as sw


def test_every_term_has_a_grid_and_an_oracle():
    terms = set(sw.terms.__all__)
    assert set(GRIDS) == set(oracle.TERMS) == terms


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("term", GRIDS)
def test_terms_equal_the_oracle(term, activation, kind):
    for shape, words in sample(all_cases(term), 8, seed_of(term, activation, kind)):
        one = batch(activation, kind, shape)
        options = resolve(words, one)
        logits, target, mask = one.tensors()
        got = build(term, options, one)(logits, target, mask)
        want = torch.tensor(oracle.term(term, *one.arguments(), **options))
        close = torch.isclose(got, want, rtol=1e-10, atol=1e-13)
        assert close, f"{float(got)} is not {float(want)} for {shape} {options}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("name", oracle.LOSSES)
def test_named_losses_equal_the_oracle(name, activation, kind):
    for shape in SHAPES:
        one = batch(activation, kind, shape)
        logits, target, mask = one.tensors()
        criterion = sw.loss(name, ignore_index=one.ignore_index, activation=activation)
        want = oracle.loss(name, *one.arguments())
        torch.testing.assert_close(criterion(logits, target, mask), torch.tensor(want), rtol=1e-10, atol=1e-13)


def test_global_scope_without_other_ranks_is_the_batch():
    one = batch("softmax", "ignored labels", "2d")
    logits, target, _ = one.tensors()
    for term in GRIDS:
        criteria = [one.criterion(getattr(sw, term)(scope=scope)) for scope in ("batch", "global")]
        assert criteria[0](logits, target) == criteria[1](logits, target)
