from sizewise.report.formatted_table import Cell, Table, latex_text, markdown_text, ranked, to_latex, to_markdown


def test_best_and_second_are_marked_and_ties_share():
    assert ranked([1.0, 3.0, 2.0, 3.0]) == ["", "best", "second", "best"]
    assert ranked([1.0, 3.0, 2.0], higher=False) == ["best", "", "second"]
    assert ranked([5.0, None]) == ["", ""]  # nothing to be better than
    assert ranked([2.0, 2.0]) == ["", ""]


def test_latex_has_the_best_bold_and_the_second_underlined():
    rows = [[Cell("A"), Cell("90.1 ± 0.2", 90.1, "best")], [Cell("B"), Cell("−1.0", -1.0, "second")]]
    text = to_latex(Table("x y", "T", ["loss", "DSC (%)"], rows, note="50 % more"))
    assert r"A & \textbf{90.1 $\pm$ 0.2} \\" in text
    assert r"B & \underline{$-$1.0} \\" in text
    assert r"loss & DSC (\%) \\" in text
    assert r"\caption{T. 50 \% more}" in text
    assert r"\label{tab:x-y}" in text
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 1


def test_markdown_has_the_best_bold_and_the_second_underlined():
    text = to_markdown(
        Table("t", "T", ["loss", "DSC"], [[Cell("A"), Cell("2", 2, "best")], [Cell("B"), Cell("1", 1, "second")]])
    )
    assert text.splitlines()[2:] == ["| A | **2** |", "| B | <ins>1</ins> |"]


def test_names_cannot_become_latex():
    nasty = r"\input{/etc/passwd} a&b % $x_1^2$ ~#{}"
    text = latex_text(nasty)
    for command in (r"\input", "$x"):
        assert command not in text.replace(r"\$x", "")
    assert text.count(r"\&") == 1
    assert r"\textbackslash{}input\{" in text
    assert "\n" not in latex_text("two\nlines")


def test_a_bar_is_a_bar_and_a_bracket_no_option():
    """In TeX's old font encoding | prints a dash; after a line break, [ begins the break's own option."""
    text = to_latex(Table("t", "T", ["loss", "|size|"], [[Cell("[A]"), Cell("1")], [Cell("*B"), Cell("2")]]))
    assert r"loss & \textbar{}size\textbar{} \\" in text
    assert r"    {}[A] & 1 \\" in text
    assert r"    {}*B & 2 \\" in text
    lines = [line for line in text.splitlines() if "&" in line]
    assert {line.count(" & ") for line in lines} == {1}


def test_names_cannot_become_markdown():
    text = to_markdown(Table("t", "T", ["loss"], [[Cell("a|b\n<script>[x](y) `c`")]]))
    line = text.splitlines()[2]
    assert len(text.splitlines()) == 3
    assert line.count("|") - line.count(r"\|") == 2
    assert "<script>" not in line
    assert r"\[x\](y)" in line
    assert markdown_text("*") == r"\*"
