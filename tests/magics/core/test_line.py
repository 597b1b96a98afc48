"""The tokenizer: every line that DESIGN names, any text, and refused keys."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labext.errors import InputError
from labext.redaction import MASK, mask
from labext_magics.core.line import Token, iter_tokens, quote, tokenize
from labext_magics.core.secrets import refuse_name, refuse_options, refuse_value


def texts(line: str) -> list[str]:
    return [token.text for token in tokenize(line).tokens]


def expressions(line: str) -> list[str | None]:
    return [token.expression for token in tokenize(line).tokens]


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("", []),
        ("   ", []),
        ("list --limit 5", ["list", "--limit", "5"]),
        ("a\tb\n c\u00a0d", ["a", "b", "c", "d"]),
        ("--set smiles=C/C=C\\C", ["--set", "smiles=C/C=C\\C"]),
        (r"C\C=C\C", [r"C\C=C\C"]),
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
        ("fold_{i}", ["fold_{i}"]),
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
        ('options={"a": true}', ['{"a": true}']),
        ("{}", ["{}"]),
        ("{1, 2}", ["1, 2"]),
        ("{ {'a': {'b': 1}}['a'] }", ["{'a': {'b': 1}}['a']"]),
        ("{**a, 'b': 1}", ["{**a, 'b': 1}"]),
        ("{x for x in y}", ["{x for x in y}"]),
        ("{'}'}", ["'}'"]),
        ("{\"a}b\" + '}'}", ["\"a}b\" + '}'"]),
        ("{'it\\'s }'}", ["'it\\'s }'"]),
        ('{"""a "}" b"""}', ['"""a "}" b"""']),
        ('{f"{x}_1"}', ['f"{x}_1"']),
        ("{a} b={c}", ["a", "c"]),
    ],
)
def test_braces_hold_one_python_expression(line: str, expected: list[str]) -> None:
    assert expressions(line) == expected


def test_brace_inside_a_word_is_literal() -> None:
    assert tokenize("a{b} c").tokens[0] == Token("a{b}", 0, 4)


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ('--name "helix', "helix"),
        ("--set a='b c", "b c"),
        ("{x", "x"),
        ("--set a={'}'", "'}'"),
        ("{'a}", "'a}"),
        ('"a"b', "`b`"),
        ("{x}_1", "`_1`"),
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


@given(st.lists(st.text(), max_size=5))
def test_every_text_can_be_written_as_one_token(words: list[str]) -> None:
    tokens = tokenize(" ".join(quote(word) for word in words)).tokens
    output = [t.text if t.expression is None else eval(t.expression) for t in tokens]
    assert output == words


@given(st.lists(st.text(min_size=1).filter(lambda t: not any(c.isspace() for c in t)), max_size=6))
def test_plain_words_are_unchanged(words: list[str]) -> None:
    plain = [w for w in words if w[0] not in "#\"'{" and not w.endswith(";")]
    plain = [w for w in plain if not any(p in w for p in ('="', "='", "={"))]
    assert texts(" ".join(plain)) == plain


@given(st.text())
def test_tokenizer_handles_any_line(line: str) -> None:
    with contextlib.suppress(InputError):
        assert all(0 <= t.start < t.end <= len(line) for t in tokenize(line).tokens)


@given(st.text())
def test_completing_an_unfinished_line_never_fails(line: str) -> None:
    tokens = list(iter_tokens(line, partial=True))
    assert all(t.start < t.end <= len(line) for t in tokens)
    assert not any(t.unclosed for t in tokens[:-1])


@given(
    st.recursive(
        st.integers() | st.text() | st.booleans(),
        lambda x: st.dictionaries(st.text(), x) | st.lists(x),
    )
)
def test_every_python_literal_is_one_expression(value: object) -> None:
    (token,) = tokenize(f"--set=a={{{value!r}}}").tokens
    assert token.text == "--set=a="
    assert token.expression is not None
    assert eval(token.expression) == value


@pytest.mark.parametrize(("key", "masked"), [("abcdefghijkl", True), ("abcdefghijk", False)])
def test_key_on_a_line_is_masked_afterwards_from_12_characters_on(key: str, masked: bool) -> None:
    with pytest.raises(InputError):
        refuse_options([*iter_tokens(f"connect --api-key={key}")], "jobs")
    assert (mask(f"it is {key}") == f"it is {MASK}") is masked


def test_password_in_an_address_is_masked_afterwards() -> None:
    with pytest.raises(InputError):
        refuse_value("https://ada:sword-and-fish@lab.example", "jobs")
    assert mask("it is sword-and-fish") == f"it is {MASK}"


def test_name_that_looks_like_a_key_is_refused() -> None:
    with pytest.raises(InputError):
        refuse_name("abcdefgh12345678", "nb", "connect")
    refuse_name("a-very-long-name-of-2026", "nb", "connect")
