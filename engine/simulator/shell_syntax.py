"""Parse shell scripts to a tree of commands. Pure; ``shell`` runs them.

Supported is what host tools send: lists, pipelines, groups, if/for/while/case, redirections (with here-documents), all
kinds of quoting, parameters, command substitution and arithmetic. Functions, arrays and aliases are not.
"""

from __future__ import annotations

import re
from typing import Final

from clawperator.engine.simulator.shell_tree import (
    Arithmetic,
    Case,
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
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9?$#@*!-]")
_LONG_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[?$#@*!-]")
_OPERATOR = re.compile(r":?[-=?+]|##?|%%?")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_REDIRECTION = re.compile(r"(\d?)(<<-|<<<|<<|<&|<|>>|>&|>\||>|&>>|&>)")
_RESERVED = re.compile(r"(?:if|then|elif|else|fi|for|in|do|done|while|until|case|esac|\{|\}|!)(?=[\s;&|()<>]|$)")
_IN_QUOTES: Final = {
    '"': re.compile(r"[^\\\"$`]+"),
    "}": re.compile(r"[^\\\"$`}]+"),
    "": re.compile(r"[^\\$`]+"),
}
_BACKQUOTED = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_ANSI_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_SINGLE_QUOTED = re.compile(r"'([^']*)'")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_TOKEN = re.compile(r"&&|\|\||;;|\n|[;&|()<>]|[^\s;&|()<>]+")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\033", "f": "\f", "v": "\v"}


class ShellSyntaxError(Exception):
    """The text is not a script. ``incomplete``: more text might complete it."""

    def __init__(self, message: str, *, incomplete: bool = False) -> None:
        super().__init__(message)
        self.incomplete = incomplete


def parse(text: str) -> Script:
    """Raises ShellSyntaxError."""
    parser = _Parser(text, 0)
    script = parser.script()
    if parser.at < len(parser.text):
        raise parser.unexpected()
    return script


class _Parser:
    """Recursive descent over the characters; ``at`` is the next one."""

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.at = 0
        self._depth = depth

    # -- lists and commands

    def script(self, *stops: str) -> Script:
        """Items up to the end, a ``)``, a ``;;`` or one of the reserved words ``stops``."""
        self._descend()
        items: list[Item] = []
        while True:
            self._skip_lines()
            if self.at >= len(self.text) or self._looking(")", ";;") or self._reserved() in stops:
                break
            pipelines = self._and_or()
            background = self._looking("&") and not self._looking("&&", "&>")
            if background or (self._looking(";") and not self._looking(";;")):
                self.at += 1
            elif not (self.at >= len(self.text) or self._looking("\n", ")", ";;")):
                raise self.unexpected()
            items.append(Item(pipelines, background))
        self._depth -= 1
        return tuple(items)

    def _and_or(self) -> tuple[tuple[str, Pipeline], ...]:
        pipelines = [("", self._pipeline())]
        while self._looking("&&", "||"):
            connector = self.text[self.at : self.at + 2]
            self.at += 2
            self._skip_lines()
            pipelines.append((connector, self._pipeline()))
        return tuple(pipelines)

    def _pipeline(self) -> Pipeline:
        negated = False
        while self._take_reserved("!"):
            negated = not negated
        commands = [self._command()]
        while self._looking("|") and not self._looking("||"):
            self.at += 1
            self._skip_lines()
            commands.append(self._command())
        return Pipeline(tuple(commands), negated)

    def _command(self) -> Command:
        word = self._reserved()
        if self._looking("("):
            self.at += 1
            body = self.script()
            self._expect(")")
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
        if word == "case":
            return self._case()
        if word:
            raise self.unexpected()
        return self._simple()

    def _if(self) -> If:
        branches: list[tuple[Script, Script]] = []
        otherwise: Script = ()
        keyword = "if"
        while keyword in ("if", "elif"):
            condition = self._block(keyword, "then", consume=False)
            self._take_reserved("then")
            branches.append((condition, self.script("elif", "else", "fi")))
            keyword = self._reserved()
        if keyword == "else":
            otherwise = self._block("else", "fi", consume=False)
        self._finish("fi")
        return If(tuple(branches), otherwise, self._redirects())

    def _for(self) -> For:
        self._take_reserved("for")
        self._skip_blank()
        match = _NAME.match(self.text, self.at)
        if match is None:
            raise self.unexpected()
        self.at = match.end()
        self._skip_lines()
        words = tuple(iter(self._word, None)) if self._take_reserved("in") else None
        if self._looking(";"):
            self.at += 1
        self._skip_lines()
        body = self._block("do", "done")
        return For(match[0], words, body, self._redirects())

    def _case(self) -> Case:
        self._take_reserved("case")
        subject = self._required_word()
        self._skip_lines()
        self._finish("in")
        clauses: list[tuple[tuple[Word, ...], Script]] = []
        self._skip_lines()
        while self._reserved() != "esac":
            clauses.append(self._clause())
            self._skip_lines()
        self._finish("esac")
        return Case(subject, tuple(clauses), self._redirects())

    def _clause(self) -> tuple[tuple[Word, ...], Script]:
        if self._looking("("):
            self.at += 1
        patterns = [self._required_word()]
        while self._looking("|"):
            self.at += 1
            patterns.append(self._required_word())
        self._expect(")")
        body = self.script("esac")
        if self._looking(";;"):
            self.at += 2
        return tuple(patterns), body

    def _block(self, start: str, end: str, *, consume: bool = True) -> Script:
        """``start`` script ``end``; the end stays when it also starts what follows."""
        self._finish(start)
        body = self.script(end)
        if self._reserved() != end:
            raise self.unexpected()
        if consume:
            self._take_reserved(end)
        return body

    def _simple(self) -> Simple:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            if (redirect := self._redirect()) is not None:
                redirects.append(redirect)
            elif not words and (match := _ASSIGNMENT.match(self.text, self.at)):
                self.at = match.end()
                assignments.append((match[0][:-1], self._word() or () if not self._at_blank() else ()))
            elif (word := self._word()) is not None:
                words.append(word)
            else:
                break
        if not (assignments or words or redirects):
            raise self.unexpected()
        return Simple(tuple(assignments), tuple(words), tuple(redirects))

    # -- redirections

    def _redirects(self) -> tuple[Redirect, ...]:
        return tuple(iter(self._redirect, None))

    def _redirect(self) -> Redirect | None:
        self._skip_blank()
        match = _REDIRECTION.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        operator = match[2]
        fd = int(match[1]) if match[1] else 0 if operator.startswith("<") else 1
        if operator in ("<<", "<<-"):
            return Redirect(fd, "<<", self._here_document(strip=operator == "<<-"))
        return Redirect(fd, operator, self._required_word())

    def _here_document(self, *, strip: bool) -> Word:
        """Cut the lines out of the text after the current line; a quoted delimiter disables their expansion."""
        word = [part for part in self._required_word() if isinstance(part, Text)]
        delimiter = "".join(part.value for part in word)
        line_end = self.text.find("\n", self.at)
        lines: list[str] = []
        at = line_end + 1
        while line_end >= 0 and at < len(self.text):
            end = self.text.find("\n", at)
            end = len(self.text) if end < 0 else end
            line = self.text[at:end].lstrip("\t") if strip else self.text[at:end]
            if line == delimiter:
                self.text = self.text[: line_end + 1] + self.text[end + 1 :]
                text = "".join(f"{each}\n" for each in lines)
                literal = any(part.quoted for part in word)
                return (Text(text, quoted=True),) if literal else tuple(self._nested(text).quoted_until(""))
            lines.append(line)
            at = end + 1
        raise ShellSyntaxError("here document unclosed", incomplete=True)

    # -- words

    def _required_word(self) -> Word:
        word = self._word()
        if word is None:
            raise self.unexpected()
        return word

    def _word(self) -> Word | None:
        """The next word; None at the end of the command."""
        self._skip_blank()
        parts: list[Part] = []
        while self.at < len(self.text):
            if (match := _PLAIN.match(self.text, self.at)) is not None:
                self.at = match.end()
                parts.append(Text(match[0], quoted=False))
            elif self.text[self.at] in "\\'\"$`":
                parts.extend(self._special())
            else:
                break
        return tuple(parts) if parts else None

    def _special(self) -> list[Part]:
        character = self.text[self.at]
        if character == "'":
            return [Text(self._quotation(_SINGLE_QUOTED), quoted=True)]
        if character == '"':
            self.at += 1
            return self.quoted_until('"')
        if character == "\\":
            escaped = self.text[self.at + 1 : self.at + 2]
            self.at += 1 + len(escaped)
            return [] if escaped == "\n" else [Text(escaped or "\\", quoted=True)]
        return [self._expansion(quoted=False)]

    def _quotation(self, pattern: re.Pattern[str]) -> str:
        """The text between the quotes at the current position."""
        match = pattern.match(self.text, self.at)
        if match is None:
            raise ShellSyntaxError("no closing quote", incomplete=True)
        self.at = match.end()
        return match[1]

    def quoted_until(self, end: str) -> list[Part]:
        """Parts up to ``end`` ("" = of the text) as inside double quotes; an empty quotation is a part, too."""
        parts: list[Part] = [Text("", quoted=True)]
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == end:
                self.at += 1
                return parts
            if character == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                self.at += 1 + len(escaped)
                literal = "" if escaped == "\n" else escaped if escaped in ("$", "`", '"', "\\") else "\\" + escaped
                parts.append(Text(literal, quoted=True))
            elif character in "$`":
                parts.append(self._expansion(quoted=True))
            elif character == '"' and end == "}":
                self.at += 1
            else:
                match = _IN_QUOTES[end].match(self.text, self.at)
                taken = match[0] if match else character
                self.at += len(taken)
                parts.append(Text(taken, quoted=True))
        if end:
            raise ShellSyntaxError("no closing quote", incomplete=True)
        return parts

    # -- expansions

    def _expansion(self, *, quoted: bool) -> Part:
        if self.text[self.at] == "`":
            return self._backquotes(quoted=quoted)
        self.at += 1
        if self._looking_raw("(("):
            return self._arithmetic(quoted=quoted)
        if self._looking_raw("("):
            return self._substitution(quoted=quoted)
        if self._looking_raw("{"):
            return self._braces(quoted=quoted)
        if self._looking_raw("'") and not quoted:
            text = self._quotation(_ANSI_QUOTED)
            return Text(_ESCAPED.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), text), quoted=True)
        match = _PARAMETER.match(self.text, self.at)
        if match is None:
            return Text("$", quoted=True)
        self.at = match.end()
        return Parameter(match[0], quoted)

    def _substitution(self, *, quoted: bool) -> Part:
        self.at += 1
        body = self.script()
        self._expect(")")
        return Substitution(body, quoted)

    def _backquotes(self, *, quoted: bool) -> Part:
        inner = self._nested(re.sub(r"\\([`$\\])", r"\1", self._quotation(_BACKQUOTED)))
        body = inner.script()
        if inner.at < len(inner.text):
            raise inner.unexpected()
        return Substitution(body, quoted)

    def _arithmetic(self, *, quoted: bool) -> Part:
        depth, at = 0, self.at
        while at < len(self.text):
            depth += {"(": 1, ")": -1}.get(self.text[at], 0)
            at += 1
            if depth == 0:
                break
        if depth or self.text[at - 2 : at] != "))":
            raise ShellSyntaxError("missing )) in arithmetic", incomplete=depth > 0)
        inner = self._nested(self.text[self.at + 2 : at - 2].replace('"', "") + '"')
        self.at = at
        return Arithmetic(tuple(inner.quoted_until('"')), quoted)

    def _braces(self, *, quoted: bool) -> Part:
        self.at += 1
        length = self._looking_raw("#") and not self._looking_raw("#}")
        self.at += length
        match = _LONG_PARAMETER.match(self.text, self.at)
        if match is None:
            raise ShellSyntaxError("bad substitution")
        self.at = match.end()
        operator = _OPERATOR.match(self.text, self.at)
        if operator is None or length:
            self._expect_raw("}")
            return Parameter(match[0], quoted, "length" if length else "")
        self.at = operator.end()
        self._descend()
        operand = tuple(self.quoted_until("}"))
        self._depth -= 1
        if operator[0][0] in "#%":  # a pattern, whose wildcards are active
            operand = tuple(Text(part.value, quoted=False) if isinstance(part, Text) else part for part in operand)
        return Parameter(match[0], quoted, operator[0], operand)

    # -- helpers

    def _nested(self, text: str) -> _Parser:
        self._descend()
        self._depth -= 1
        return _Parser(text, self._depth + 1)

    def _descend(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ShellSyntaxError("nested too deeply")

    def _skip_blank(self) -> None:
        match = _BLANK.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
        if self._looking_raw("#") and (self.at == 0 or self.text[self.at - 1] in " \t\r\n;&|()"):
            comment = _COMMENT.match(self.text, self.at)
            self.at = comment.end() if comment else self.at

    def _skip_lines(self) -> None:
        self._skip_blank()
        while self._looking_raw("\n"):
            self.at += 1
            self._skip_blank()

    def _at_blank(self) -> bool:
        return self.at >= len(self.text) or self.text[self.at] in " \t\r\n"

    def _looking(self, *expected: str) -> bool:
        self._skip_blank()
        return self.text.startswith(expected, self.at)

    def _looking_raw(self, expected: str) -> bool:
        return self.text.startswith(expected, self.at)

    def _reserved(self) -> str:
        """The reserved word that comes next, or ""."""
        self._skip_blank()
        match = _RESERVED.match(self.text, self.at)
        return match[0] if match else ""

    def _take_reserved(self, word: str) -> bool:
        if self._reserved() != word:
            return False
        self.at += len(word)
        return True

    def _finish(self, word: str) -> None:
        if not self._take_reserved(word):
            raise self.unexpected()

    def _expect(self, text: str) -> None:
        if not self._looking(text):
            raise self.unexpected()
        self.at += len(text)

    def _expect_raw(self, text: str) -> None:
        if not self._looking_raw(text):
            raise ShellSyntaxError("bad substitution", incomplete=self.at >= len(self.text))
        self.at += len(text)

    def unexpected(self) -> ShellSyntaxError:
        """The error message for the next token."""
        self._skip_blank()
        if self.at >= len(self.text):
            return ShellSyntaxError("syntax error: unexpected end of file", incomplete=True)
        match = _TOKEN.match(self.text, self.at)
        token = match[0] if match else self.text[self.at]
        return ShellSyntaxError(f"syntax error: unexpected '{'newline' if token == chr(10) else token}'")
