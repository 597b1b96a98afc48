"""Tokens of a line: quotes, expressions in braces, and the final semicolon."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import InputError
from labext_magics.core.line import iter_tokens, quote, tokenize


def texts(line: str) -> list[str]:
    return [token.text for token in tokenize(line).tokens]


def expressions(line: str) -> list[str | None]:
    return [token.expression for token in tokenize(line).tokens]


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("", []),
        ("a\tb\n c\u00a0d", ["a", "b", "c", "d"]),
        ("--set smiles=C/C=C\\C", ["--set", "smiles=C/C=C\\C"]),
        ("CC#N # a comment", ["CC#N"]),
        ("submit x  # it's \"a comment {", ["submit", "x"]),
        ("# all of it", []),
        ("ask it's fine", ["ask", "it's", "fine"]),
        ('5" 3\' x"y', ['5"', "3'", 'x"y']),
        (
            "$5.00 $HOME ~ `ls` $(ls) a|b >c *?",
            ["$5.00", "$HOME", "~", "`ls`", "$(ls)", "a|b", ">c", "*?"],
        ),
        ("--name 'two words'", ["--name", "two words"]),
        ('--name="two words"', ["--name=two words"]),
        ('--set note="it\'s # no comment"', ["--set", "note=it's # no comment"]),
        ('--map "my setting"="my column"', ["--map", "my setting=my column"]),
        ("''", [""]),
        ("a=b=c", ["a=b=c"]),
        ("Größe=3µm 蛋白", ["Größe=3µm", "蛋白"]),
        ("'fold_{i}' --set a=\"{i}\"", ["fold_{i}", "--set", "a={i}"]),
    ],
)
def test_whitespace_separates_tokens_and_quotes_group_them(line: str, tokens: list[str]) -> None:
    assert texts(line) == tokens


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{x}", ["x"]),
        ("{ x + 1 }", ["x + 1"]),
        ('sequence={seqs["bases"][0]}', ['seqs["bases"][0]']),
        ("{}", ["{}"]),
        ("{ {'a': {'b': 1}}['a'] }", ["{'a': {'b': 1}}['a']"]),
        ("{x for x in y}", ["{x for x in y}"]),
        ("{'}'}", ["'}'"]),
        ("{\"a}b\" + '}'}", ["\"a}b\" + '}'"]),
        ("{'it\\'s }'}", ["'it\\'s }'"]),
        ('{"""a "}" b"""}', ['"""a "}" b"""']),
        ('{f"{x}_1"}', ['f"{x}_1"']),
        ("{a} b={c}", ["a", "c"]),
        (
            '{a: b} {"a":b} {a:b,c:d} {**a} {é: b}',
            ["{a: b}", '{"a":b}', "{a:b,c:d}", "{**a}", "{é: b}"],
        ),
    ],
)
def test_braces_hold_one_python_expression(line: str, expected: list[str]) -> None:
    assert expressions(line) == expected


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ('--name "helix', "helix"),
        ("--set a='b c", "b c"),
        ("{x", "x"),
        ("--set a={'}'", "'}'"),
        ("{'a}", "'a}"),
        ('"a"b', "`b`"),
        ('"a b/"{x}', "`{x}`"),
        ("a{x", "x"),
        ("{x}'a b'", "`'a b'`"),
    ],
)
def test_unclosed_bracket_or_quote_is_located(line: str, where: str) -> None:
    with pytest.raises(InputError) as caught:
        tokenize(line)
    assert where in caught.value.message
    assert caught.value.next_step
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "line", ["list;", "list ;", "list ; ", "list;  # quiet", 'x="a b";', "{x};", ";"]
)
def test_trailing_semicolon_suppresses_output(line: str) -> None:
    tokens = tokenize(line)
    assert tokens.silent
    assert not any(token.text.endswith(";") for token in tokens.tokens)


@pytest.mark.parametrize("line", ["a;b", "a; b", "'list;'", "CC;C x"])
def test_semicolon_elsewhere_is_literal(line: str) -> None:
    tokens = tokenize(line)
    assert not tokens.silent
    assert any(";" in token.text for token in tokens.tokens)


def test_quoted_token_is_no_option() -> None:
    assert not tokenize('"--name"').tokens[0].is_option
    assert tokenize("--name").tokens[0].is_option


@pytest.mark.parametrize("text", ["two\nlines", "a\tb", "x\u2028y"])
def test_quoted_text_with_control_characters_is_one_line_that_a_message_shows(text: str) -> None:
    (token,) = tokenize(quote(text)).tokens
    assert token.expression is not None
    assert eval(token.expression) == text
    assert quote(text).isprintable()


@given(st.lists(st.text(), max_size=5))
def test_every_text_can_be_written_as_one_token(words: list[str]) -> None:
    tokens = tokenize(" ".join(quote(word) for word in words)).tokens
    output = [t.text if t.expression is None else eval(t.expression) for t in tokens]
    assert output == words


@given(st.text())
def test_any_line_is_split_or_refused(line: str) -> None:
    with contextlib.suppress(InputError):
        assert all(0 <= t.start < t.end <= len(line) for t in tokenize(line).tokens)
    tokens = list(iter_tokens(line, partial=True))
    assert all(t.start < t.end <= len(line) for t in tokens)
    assert not any(t.unclosed for t in tokens[:-1])


@given(
    st.recursive(
        st.integers() | st.text() | st.booleans(),
        lambda x: st.dictionaries(st.text(), x, max_size=3) | st.lists(x, max_size=3),
        max_leaves=8,
    )
)
def test_every_python_literal_is_one_expression(value: object) -> None:
    (token,) = tokenize(f"--set=a={{{value!r}}}").tokens
    assert token.text == "--set=a="
    assert token.expression is not None
    assert eval(token.expression) == value
