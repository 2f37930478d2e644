"""Parse shell scripts to a tree of commands. Pure; ``shell`` runs them.

Supported is what host tools send: lists, pipelines, groups, if/for/while, redirections, quoting, parameters, ``$(…)`` and sums.
``case``, functions, background jobs, backquotes and here-documents are not.
"""

from __future__ import annotations

import re
from typing import Final

from clawperator.engine.simulator.shell_tree import (
    Arithmetic,
    Command,
    For,
    Group,
    If,
    Item,
    Parameter,
    Part,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Substitution,
    Text,
    While,
    Word,
)

MAX_DEPTH: Final = 40
"""Limit of nesting, below the interpreter's own."""

_PLAIN = re.compile(r"[^\\'\"$`\s;&|<>()]+")
_BLANK = re.compile(r"(?:[ \t\r]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9?$]")
_LONG_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+")
_OPERATOR = re.compile(r":?-|##?|%%?")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_REDIRECTION = re.compile(r"(\d?)(<(?!<)|>>|>&|>)")
_RESERVED = re.compile(r"(?:if|then|elif|else|fi|for|in|do|done|while|until|case|\{|\}|!)(?=[\s;&|()<>]|$)")
_IN_QUOTES: Final = {
    '"': re.compile(r"[^\\\"$`]+"),
    "}": re.compile(r"[^\\\"$`}]+"),
}
_SUM = re.compile(r"\(\(([^()]*)\)\)")
_SINGLE_QUOTED = re.compile(r"'([^']*)'")
_TOKEN = re.compile(r"&&|\|\||;;|\n|[;&|()<>]|[^\s;&|()<>]+")


class ShellSyntaxError(Exception):
    """The text is not a script. ``incomplete``: more text might complete it."""

    def __init__(self, message: str, *, incomplete: bool = False) -> None:
        super().__init__(message)
        self.incomplete = incomplete


def parse(text: str) -> Script:
    """Raises ShellSyntaxError."""
    parser = _Parser(text, 0)
    script = parser.script()
    if not parser.cursor.ended():
        raise parser.cursor.unexpected()
    return script


class _Cursor:
    """A place in a text: what comes next, and steps over it. ``raw``: blanks and comments are not skipped before."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def ended(self) -> bool:
        return self.at >= len(self.text)

    def next_is(self, *expected: str) -> bool:
        self.skip_blank()
        return self.text.startswith(expected, self.at)

    def next_is_raw(self, expected: str) -> bool:
        return self.text.startswith(expected, self.at)

    def take(self, expected: str) -> bool:
        self.skip_blank()
        return self.take_raw(expected)

    def take_raw(self, expected: str) -> bool:
        if not self.next_is_raw(expected):
            return False
        self.at += len(expected)
        return True

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Step over what the pattern matches here."""
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
        return match

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise self.unexpected()

    def reserved(self) -> str:
        """The reserved word that comes next, or ""."""
        self.skip_blank()
        match = _RESERVED.match(self.text, self.at)
        return match[0] if match else ""

    def take_reserved(self, word: str) -> bool:
        return self.reserved() == word and self.take_raw(word)

    def expect_reserved(self, word: str) -> None:
        if not self.take_reserved(word):
            raise self.unexpected()

    def skip_blank(self) -> None:
        self.match(_BLANK)
        if self.next_is_raw("#") and (self.at == 0 or self.text[self.at - 1] in " \t\r\n;&|()"):
            self.match(_COMMENT)

    def skip_lines(self) -> None:
        self.skip_blank()
        while self.take_raw("\n"):
            self.skip_blank()

    def escaped(self) -> str:
        """Step over a backslash and the character behind it; return that, or nothing at the end."""
        character = self.text[self.at + 1 : self.at + 2]
        self.at += 1 + len(character)
        return character

    def unexpected(self) -> ShellSyntaxError:
        """The error message for the next token."""
        self.skip_blank()
        if self.ended():
            return ShellSyntaxError("syntax error: unexpected end of file", incomplete=True)
        match = _TOKEN.match(self.text, self.at)
        token = match[0] if match else self.text[self.at]
        return ShellSyntaxError(f"syntax error: unexpected '{'newline' if token == chr(10) else token}'")


class _Parser:
    """Recursive descent over the characters."""

    def __init__(self, text: str, depth: int) -> None:
        self.cursor = _Cursor(text)
        self._depth = depth

    # -- lists and commands

    def script(self, *stops: str) -> Script:
        """Items up to the end, a ``)`` or one of the reserved words ``stops``."""
        self._descend()
        items: list[Item] = []
        while True:
            self.cursor.skip_lines()
            if self.cursor.ended() or self.cursor.next_is(")") or self.cursor.reserved() in stops:
                break
            items.append(self._and_or())
            if not (self.cursor.take(";") or self.cursor.ended() or self.cursor.next_is("\n", ")")):
                raise self.cursor.unexpected()
        self._depth -= 1
        return tuple(items)

    def _and_or(self) -> Item:
        pipelines = [("", self._pipeline())]
        while self.cursor.next_is("&&", "||"):
            connector = self.cursor.text[self.cursor.at : self.cursor.at + 2]
            self.cursor.take_raw(connector)
            self.cursor.skip_lines()
            pipelines.append((connector, self._pipeline()))
        return tuple(pipelines)

    def _pipeline(self) -> Pipeline:
        negated = False
        while self.cursor.take_reserved("!"):
            negated = not negated
        commands = [self._command()]
        while not self.cursor.next_is("||") and self.cursor.take("|"):
            self.cursor.skip_lines()
            commands.append(self._command())
        return Pipeline(tuple(commands), negated)

    def _command(self) -> Command:
        word = self.cursor.reserved()
        if self.cursor.take("("):
            body = self.script()
            self.cursor.expect(")")
            return Group(body, subshell=True, redirects=self._redirects())
        if word == "{":
            return Group(self._block("{", "}"), subshell=False, redirects=self._redirects())
        if word == "if":
            return self._if()
        if word == "for":
            return self._for()
        if word in ("while", "until"):
            condition = self._block(word, "do", consume=False)
            return While(condition, self._block("do", "done"), word == "until", self._redirects())
        if word:
            raise self.cursor.unexpected()
        return self._simple()

    def _if(self) -> If:
        branches: list[tuple[Script, Script]] = []
        otherwise: Script = ()
        keyword = "if"
        while keyword in ("if", "elif"):
            condition = self._block(keyword, "then", consume=False)
            self.cursor.take_reserved("then")
            branches.append((condition, self.script("elif", "else", "fi")))
            keyword = self.cursor.reserved()
        if keyword == "else":
            otherwise = self._block("else", "fi", consume=False)
        self.cursor.expect_reserved("fi")
        return If(tuple(branches), otherwise, self._redirects())

    def _for(self) -> For:
        self.cursor.take_reserved("for")
        self.cursor.skip_blank()
        match = self.cursor.match(_NAME)
        if match is None:
            raise self.cursor.unexpected()
        self.cursor.skip_lines()
        self.cursor.expect_reserved("in")
        words = tuple(iter(self._word, None))
        self.cursor.take(";")
        self.cursor.skip_lines()
        body = self._block("do", "done")
        return For(match[0], words, body, self._redirects())

    def _block(self, start: str, end: str, *, consume: bool = True) -> Script:
        """``start`` script ``end``; the end stays when it also starts what follows."""
        self.cursor.expect_reserved(start)
        body = self.script(end)
        if self.cursor.reserved() != end:
            raise self.cursor.unexpected()
        if consume:
            self.cursor.take_reserved(end)
        return body

    def _simple(self) -> Simple:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            if (redirect := self._redirect()) is not None:
                redirects.append(redirect)
            elif not words and (match := self.cursor.match(_ASSIGNMENT)):
                at_blank = self.cursor.ended() or self.cursor.text[self.cursor.at] in " \t\r\n"
                assignments.append((match[0][:-1], () if at_blank else self._word() or ()))
            elif (word := self._word()) is not None:
                words.append(word)
            else:
                break
        if not (assignments or words or redirects):
            raise self.cursor.unexpected()
        return Simple(tuple(assignments), tuple(words), tuple(redirects))

    # -- redirections

    def _redirects(self) -> tuple[Redirect, ...]:
        return tuple(iter(self._redirect, None))

    def _redirect(self) -> Redirect | None:
        self.cursor.skip_blank()
        match = self.cursor.match(_REDIRECTION)
        if match is None:
            return None
        operator = match[2]
        fd = int(match[1]) if match[1] else 0 if operator.startswith("<") else 1
        return Redirect(fd, operator, self._required_word())

    # -- words

    def _required_word(self) -> Word:
        word = self._word()
        if word is None:
            raise self.cursor.unexpected()
        return word

    def _word(self) -> Word | None:
        """The next word; None at the end of the command."""
        self.cursor.skip_blank()
        parts: list[Part] = []
        while not self.cursor.ended():
            if (match := self.cursor.match(_PLAIN)) is not None:
                parts.append(Text(match[0], quoted=False))
            elif self.cursor.text[self.cursor.at] in "\\'\"$`":
                parts.extend(self._special())
            else:
                break
        return tuple(parts) if parts else None

    def _special(self) -> list[Part]:
        character = self.cursor.text[self.cursor.at]
        if character == "'":
            match = self.cursor.match(_SINGLE_QUOTED)
            if match is None:
                raise ShellSyntaxError("no closing quote", incomplete=True)
            return [Text(match[1], quoted=True)]
        if character == '"':
            self.cursor.at += 1
            return self.quoted_until('"')
        if character == "\\":
            escaped = self.cursor.escaped()
            return [] if escaped == "\n" else [Text(escaped or "\\", quoted=True)]
        return [self._expansion(quoted=False)]

    def quoted_until(self, end: str) -> list[Part]:
        """Parts up to ``end`` as inside double quotes; an empty quotation is a part, too."""
        parts: list[Part] = [Text("", quoted=True)]
        while not self.cursor.ended():
            character = self.cursor.text[self.cursor.at]
            if character == end:
                self.cursor.at += 1
                return parts
            if character == "\\":
                escaped = self.cursor.escaped()
                literal = "" if escaped == "\n" else escaped if escaped in ("$", "`", '"', "\\") else "\\" + escaped
                parts.append(Text(literal, quoted=True))
            elif character in "$`":
                parts.append(self._expansion(quoted=True))
            elif character == '"' and end == "}":
                self.cursor.at += 1
            else:
                match = self.cursor.match(_IN_QUOTES[end])
                self.cursor.at += match is None
                parts.append(Text(match[0] if match else character, quoted=True))
        raise ShellSyntaxError("no closing quote", incomplete=True)

    # -- expansions

    def _expansion(self, *, quoted: bool) -> Part:
        self.cursor.at += 1
        if self.cursor.next_is_raw("(("):
            return self._arithmetic(quoted=quoted)
        if self.cursor.next_is_raw("("):
            return self._substitution(quoted=quoted)
        if self.cursor.next_is_raw("{"):
            return self._braces(quoted=quoted)
        match = self.cursor.match(_PARAMETER)
        return Parameter(match[0], quoted) if match is not None else Text("$", quoted=True)

    def _substitution(self, *, quoted: bool) -> Part:
        self.cursor.at += 1
        body = self.script()
        self.cursor.expect(")")
        return Substitution(body, quoted)

    def _arithmetic(self, *, quoted: bool) -> Part:
        match = self.cursor.match(_SUM)
        if match is None:
            raise ShellSyntaxError("missing )) in arithmetic", incomplete=self.cursor.ended())
        return Arithmetic(match[1], quoted)

    def _braces(self, *, quoted: bool) -> Part:
        self.cursor.at += 1
        match = self.cursor.match(_LONG_PARAMETER)
        operator = self.cursor.match(_OPERATOR)
        if match is None or (operator is None and not self.cursor.take_raw("}")):
            raise ShellSyntaxError("bad substitution", incomplete=self.cursor.ended())
        if operator is None:
            return Parameter(match[0], quoted)
        self._descend()
        operand = tuple(self.quoted_until("}"))
        self._depth -= 1
        if operator[0][0] in "#%":  # a pattern, whose wildcards are active
            operand = tuple(Text(part.value, quoted=False) if isinstance(part, Text) else part for part in operand)
        return Parameter(match[0], quoted, operator[0], operand)

    # -- nesting

    def _descend(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ShellSyntaxError("nested too deeply")
