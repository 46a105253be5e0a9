"""The page in a real browser: it loads quietly, fetches nothing, and everything on it that can be operated works."""

import pytest
from chromium import BINARY, browser
from synthetic_study import NASTY, make_study

from sizewise.report.build import assemble
from sizewise.report.page import render

pytestmark = pytest.mark.skipif(BINARY is None, reason="no Chromium here; .ci/run installs one")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    study = make_study(folder / "study", cases=12, seeds=2, nasty=True, overlays=5, weights=("0.1", "1"))
    page = folder / "report.html"
    page.write_text(render(assemble(study).page), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def chromium():
    with browser() as page:
        yield page


@pytest.fixture
def page(chromium, path):
    chromium.events.clear()
    chromium.open(path)
    yield chromium
    assert chromium.errors == []
    assert [url for url in chromium.requests if url != path.absolute().as_uri()] == []


def test_it_opens_and_shows_the_verdict_first(page):
    assert page.run("document.querySelector('main section').id") == "verdict"
    assert page.run("document.querySelector('h1').textContent") == NASTY  # words, not markup
    assert page.run("document.querySelectorAll('img[src=x]').length") == 0
    assert page.run("document.querySelector('.verdict .lead').getBoundingClientRect().top") < 300


def test_tables_sort_both_ways_by_number(page):
    column = "[...document.querySelectorAll('table.sortable')[0].tBodies[0].rows].map(r => parseFloat(r.cells[1].textContent))"
    click = "document.querySelectorAll('table.sortable')[0].tHead.rows[0].cells[1].querySelector('button').click()"
    page.run(click)
    rising = page.run(column)
    assert len(rising) == 6
    assert rising == sorted(rising)
    page.run(click)
    assert page.run(column) == rising[::-1]
    head = "document.querySelectorAll('table.sortable')[0].tHead.rows[0].cells[1].getAttribute('aria-sort')"
    assert page.run(head) == "descending"


def test_the_row_of_region_sizes_stays_first(page):
    table = "[...document.querySelectorAll('table.sortable')].find(t => t.querySelector('.fixed'))"
    page.run(f"{table}.tHead.rows[0].cells[1].querySelector('button').click()")
    assert page.run(f"{table}.tBodies[0].rows[0].cells[0].textContent") == "mean region proportion (%)"


def test_tabs_answer_to_clicks_and_arrows(page):
    shown = "[...document.querySelectorAll('[role=tabpanel]')].filter(p => p.offsetHeight).map(p => p.id)"
    assert page.run(shown) == ["tabpanel-1"]
    page.run("document.getElementById('tab-2').click()")
    assert page.run(shown) == ["tabpanel-2"]
    page.run("document.getElementById('tab-2').focus()")
    page.key("ArrowRight")
    assert page.run(shown) == ["tabpanel-3"]
    assert page.run("document.activeElement.id") == "tab-3"
    page.key("End")
    assert page.run("document.activeElement.getAttribute('aria-selected')") == "true"


def test_another_view_can_be_chosen(page):
    figure = "document.getElementById('figure-violins')"
    page.run(f"figuresOnPage.find(f => f.node === {figure}).draw()")
    before = page.run(f"{figure}.querySelector('.panels svg').innerHTML")
    page.run(f"(s => {{ s.value = 1; s.dispatchEvent(new Event('input')); }})({figure}.querySelector('select'))")
    assert page.run(f"{figure}.querySelector('.panels svg').innerHTML") != before


def test_the_legend_hides_and_shows(page):
    figure = "document.getElementById('figure-violins')"
    page.run(f"figuresOnPage.find(f => f.node === {figure}).draw()")
    areas = f"{figure}.querySelectorAll('.panels .area path').length"
    assert page.run(areas) == 6
    page.run(f"{figure}.querySelector('.legend button').click()")
    assert page.run(areas) == 5
    assert page.run(f"{figure}.querySelector('.legend button').getAttribute('aria-pressed')") == "false"
    page.run(f"{figure}.querySelector('.legend button').click()")
    assert page.run(areas) == 6


def test_points_answer_to_the_mouse_and_to_keys(page):
    figure = "document.getElementById('figure-differences')"
    page.run(f"{figure}.scrollIntoView({{behavior: 'instant'}}); figuresOnPage.find(f => f.node === {figure}).draw()")
    spot = page.run(
        f"(() => {{ const s = {figure}.querySelector('.panels svg').getBoundingClientRect(), p = {figure}.querySelector('.panel').scene.points[0];"
        " return [s.left + p.px, s.top + p.py]; })()"
    )
    page.mouse("mouseMoved", *spot)
    assert "95 % interval" in page.run("document.getElementById('tooltip').textContent")
    assert page.run("document.getElementById('tooltip').hidden") is False
    page.run(f"{figure}.querySelector('.panels svg').focus()")
    page.key("ArrowRight")
    first = page.run("document.getElementById('spoken').textContent")
    page.key("ArrowRight")
    assert page.run("document.getElementById('spoken').textContent") != first


def test_dragging_zooms_and_the_button_undoes_it(page):
    figure = "document.getElementById('figure-differences')"
    page.run(f"{figure}.scrollIntoView({{behavior: 'instant'}}); figuresOnPage.find(f => f.node === {figure}).draw()")
    left, top = page.run(f"(b => [b.left, b.top])({figure}.querySelector('.panels svg').getBoundingClientRect())")
    ticks = f"[...{figure}.querySelectorAll('.axes text')].map(t => t.textContent).join()"
    before = page.run(ticks)
    page.mouse("mouseMoved", left + 200, top + 60)
    page.mouse("mousePressed", left + 200, top + 60)
    page.mouse("mouseMoved", left + 400, top + 160)
    page.mouse("mouseReleased", left + 400, top + 160)
    assert page.run(ticks) != before
    page.run(f"{figure}.querySelector('.reset').click()")
    assert page.run(ticks) == before
    assert page.run(f"{figure}.querySelector('.reset').hidden") is True


def test_cases_are_browsed_from_worst_to_best(page):
    part = "document.querySelector('#gallery [data-part={}]')".format
    note = f"parseFloat({part('cards')}.querySelector('.card span').textContent.match(/[0-9.]+/)[0])"
    page.run(f"{part('worst')}.click()")
    worst, name = page.run(note), page.run(f"{part('name')}.textContent")
    assert page.run(f"{part('cards')}.querySelectorAll('.card').length") == 7  # the truth and six losses
    page.run(f"{part('median')}.click()")
    median = page.run(note)
    page.run(f"{part('best')}.click()")
    best = page.run(note)
    assert worst <= median <= best
    page.run(f"{part('next')}.click()")  # from the last to the first
    assert page.run(f"{part('name')}.textContent") == name
    page.run(f"{part('cards')}.focus()")
    page.key("ArrowRight")
    assert page.run(f"{part('name')}.textContent") != name
    loaded = f"[...{part('cards')}.querySelectorAll('img')].every(i => i.complete && i.naturalWidth > 0)"
    page.run(f"Promise.all([...{part('cards')}.querySelectorAll('img')].map(i => i.decode()))")
    assert page.run(loaded) is True
    errors = page.run(f"{part('cards')}.querySelectorAll('img.over')[1].src")
    page.run(f"(s => {{ s.value = 'labels'; s.dispatchEvent(new Event('input')); }})({part('layer')})")
    assert page.run(f"{part('cards')}.querySelectorAll('img.over')[1].src") != errors


def test_dark_follows_the_system_and_the_button(page, path):
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.run(paper)
    page.run("document.getElementById('theme').click()")
    dark = page.run(paper)
    assert dark != light
    page.run("localStorage.clear()")
    page.open(path, dark=True)
    assert page.run(paper) == dark
    page.run("document.getElementById('theme').click()")
    assert page.run(paper) == light
    page.run("localStorage.clear()")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 800, 1400])
def test_no_screen_need_scroll_sideways(page, path, width, dark):
    page.open(path, width=width, height=844, dark=dark)
    page.run("figuresOnPage.forEach(f => f.node.closest('.off') || f.draw())")
    assert page.run("document.documentElement.scrollWidth") <= width
    drawn = page.run("figuresOnPage[0].node.querySelector('.panels svg').getBoundingClientRect().width")
    assert drawn > 0.85 * page.run("figuresOnPage[0].node.clientWidth")  # a figure uses what there is


def test_a_table_that_is_cut_says_that_it_scrolls(page, path):
    page.open(path, width=390, height=844)
    wide = "[...document.querySelectorAll('.scroll')].filter(b => b.scrollWidth > b.clientWidth + 1)"
    assert page.run(f"{wide}.length") > 0
    cue = "b.previousElementSibling.classList.contains('cue') && !b.previousElementSibling.hidden"
    assert page.run(f"{wide}.every(b => {cue} && b.classList.contains('more'))") is True
    page.open(path, width=1400, height=844)
    assert page.run("document.querySelector('#scores + .block .cue')?.hidden ?? true") is True


def test_the_ranking_stands_in_the_verdict_with_its_ties(page):
    figure = "document.querySelector('#verdict #figure-differences')"
    page.run(f"figuresOnPage.find(f => f.node === {figure}).draw()")
    assert page.run(f"{figure}.querySelectorAll('.panels .line.thick path').length") > 0
    assert (
        page.run(f"[...{figure}.querySelectorAll('.axes text')].some(t => t.textContent === 'CE (reference)')") is True
    )


def test_what_is_left_out_is_one_line(page):
    assert page.run("document.querySelectorAll('.left-out').length") > 0
    assert page.run("document.querySelector('.left-out').checkVisibility()") is True
    assert page.run("document.querySelector('.left-out').open") is False
    said = page.run("[...document.querySelectorAll('.left-out summary')].map(one => one.textContent).join()")
    assert "minus argmax; " in said  # titles may hold commas


def test_everything_is_reached_by_keys_alone(page):
    """From the top, Tab comes to every control that is shown, and the focus can be seen on it."""
    page.run("figuresOnPage.forEach(f => f.draw()); document.activeElement.blur()")
    shown = "a, button, select, input, summary, svg[tabindex], .scroll[tabindex], .cards, pre"
    wanted = page.run(
        f"[...document.querySelectorAll('{shown}')].filter(e => e.checkVisibility() && e.tabIndex >= 0 && !e.disabled).length"
    )
    reached = set()
    for _ in range(wanted + 5):
        page.key("Tab")
        page.run("(e => { e.dataset.reached = '1'; })(document.activeElement)")
        reached.add(page.run("getComputedStyle(document.activeElement).outlineStyle"))
        if page.run("document.activeElement === document.body"):
            break
    left = page.run(
        f"[...document.querySelectorAll('{shown}')].filter(e => e.checkVisibility() && e.tabIndex >= 0 && !e.disabled"
        " && !e.dataset.reached).map(e => e.outerHTML.slice(0, 80))"
    )
    assert left == []
    assert "none" not in reached - {page.run("getComputedStyle(document.body).outlineStyle")}


def test_on_a_phone_a_first_column_is_read_in_words(page, path):
    """No cell of it is more than four lines high: a column of single letters was fifteen."""
    page.open(path, width=390, height=844)
    heights = page.run(
        "[...document.querySelectorAll('td.head:first-child')].map(one => one.clientHeight / "
        "parseFloat(getComputedStyle(one).lineHeight))"
    )
    assert len(heights) > 5
    assert max(heights) < 5


def test_on_a_phone_no_name_of_the_radar_is_cut_by_the_edge(page, path):
    page.open(path, width=390, height=844)
    page.run("document.getElementById('tab-3').click(); figuresOnPage.forEach(f => f.node.closest('.off') || f.draw())")
    inside = (
        "(svg => { const frame = svg.getBoundingClientRect(); return [...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect())"
        ".map(b => b.left >= frame.left - 1 && b.right <= frame.right + 1); })(document.querySelector('#figure-radar .panels svg'))"
    )
    fits = page.run(inside)
    assert len(fits) == 2 * 3  # a name and a range at each of three axes
    assert all(fits)


def test_print_is_on_white_paper_for_a_reader_in_the_dark(page, path):
    paper = "getComputedStyle(document.body).backgroundColor"
    page.open(path, dark=True)
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.call("Emulation.setEmulatedMedia", media="print", features=features)
    assert page.run(paper) == "rgb(255, 255, 255)"
    page.run("document.documentElement.dataset.theme = 'dark'")  # the reader's own choice, too
    assert page.run(paper) == "rgb(255, 255, 255)"
    page.call("Emulation.setEmulatedMedia", media="")


def test_the_latex_of_a_table_is_at_hand(page):
    details = "document.querySelector('#scores + .block details.latex')"
    assert page.run(f"{details}.querySelector('pre').checkVisibility()") is False
    page.run(f"{details}.querySelector('summary').click()")
    text = page.run(f"{details}.querySelector('pre').innerText")
    assert text.startswith(r"% needs \usepackage{booktabs}")
    assert r"\textbf{" in text
    assert page.run(f"{details}.querySelector('pre').checkVisibility()") is True


def test_print_shows_every_tab_and_draws_every_figure(page):
    page.call("Emulation.setEmulatedMedia", media="print")
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run("[...document.querySelectorAll('[role=tabpanel]')].every(p => p.offsetHeight > 0)") is True
    assert page.run("figuresOnPage.every(f => f.drawn && f.node.querySelector('svg path'))") is True
    page.call("Emulation.setEmulatedMedia", media="")
