"""torch.compile sees one opaque operator: no graph break, no recompilation when a weight changes."""

import pytest
import torch
from torch import nn

import sizewise as sw

pytestmark = pytest.mark.filterwarnings("ignore")  # the compiler's own, of which there are many


def network_and_loss(model, criterion, images, target, mask):
    """What a user compiles; dynamo takes no backward() inside, autograd compiles that itself."""
    return criterion(model(images), target, mask)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("RCE", {"ignore_index": 255}),
        ("DiceFL", {"scope": "batch", "classes": [0, 2], "absent": "skip", "class_weight": [1.0, 2.0, 0.5]}),
        ("LogDiceCE", {"activation": "sigmoid"}),
    ],
)
def test_a_train_step_compiles_whole_and_equals_eager(name, options):
    torch.manual_seed(0)
    images, target = torch.randn(2, 3, 8, 8), torch.randint(0, 2, (2, 8, 8), dtype=torch.uint8)
    mask = torch.rand(2, 8, 8) > 0.3
    if options.get("activation") == "sigmoid":
        target = torch.randint(0, 2, (2, 3, 8, 8))
    criterion = sw.loss(name, **options)
    model = nn.Conv2d(3, 3, 1)
    eager = network_and_loss(model, criterion, images, target, mask)
    eager.backward()
    expected = model.weight.grad.clone()
    model.zero_grad()
    compiled = torch.compile(network_and_loss, fullgraph=True, backend="aot_eager")
    loss = compiled(model, criterion, images, target, mask)
    loss.backward()
    torch.testing.assert_close(loss, eager)
    torch.testing.assert_close(model.weight.grad, expected)


def test_the_default_backend_compiles_the_criterion():
    torch.manual_seed(0)
    logits, target = torch.randn(2, 3, 8, 8, requires_grad=True), torch.randint(0, 3, (2, 8, 8))
    criterion = sw.loss("RCE")
    torch.compile(criterion, fullgraph=True)(logits, target).backward()
    compiled, logits.grad = logits.grad, None
    criterion(logits, target).backward()
    torch.testing.assert_close(compiled, logits.grad)


def test_changing_a_weight_does_not_recompile():
    torch._dynamo.reset()
    graphs = []

    def counting(graph, _):
        graphs.append(graph)
        return graph.forward

    criterion = sw.loss("RCE")
    compiled = torch.compile(criterion, fullgraph=True, backend=counting)
    logits, target = torch.randn(1, 3, 4, 4), torch.randint(0, 3, (1, 4, 4))
    values = []
    for weight in (1.0, 0.5, 0.0):
        criterion.weights["SizeL1"] = weight
        values.append(float(compiled(logits, target)))
    assert len(graphs) == 1
    terms = criterion.terms(logits, target)
    expected = [float(terms["CrossEntropy"] + weight * terms["SizeL1"]) for weight in (1.0, 0.5, 0.0)]
    assert values == pytest.approx(expected)


def test_terms_and_deep_supervision_compile():
    criterion = sw.DeepSupervision(sw.CrossEntropy() + sw.SizeKL() + 0.1 * sw.GeneralizedDice())
    outputs = [torch.randn(1, 3, 8, 8), torch.randn(1, 3, 4, 4)]
    target = torch.randint(0, 3, (1, 8, 8))
    compiled = torch.compile(criterion, fullgraph=True, backend="aot_eager")(outputs, target)
    torch.testing.assert_close(compiled, criterion(outputs, target))


def test_the_operators_follow_torchs_own_rules():
    from sizewise.stats.operator import region_sums

    logits = torch.randn(2, 3, 4, 4, requires_grad=True)
    target = torch.randint(0, 3, (2, 1, 4, 4))
    arguments = (logits, target, None, 255, False, [0, 1, 2, 4], [0.0, 0.0, 0.0, 10.0])
    torch.library.opcheck(region_sums, arguments)
