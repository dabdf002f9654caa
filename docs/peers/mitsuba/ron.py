"""Parses the scene files in RON, as far as Raysieve's scenes use that format."""

import re

TOKEN = re.compile(
    r"\s+|//[^\n]*|(?P<number>[-+]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)|(?P<word>[A-Za-z_]\w*)"
    r'|"(?P<string>[^"\\]*)"|(?P<sign>[()\[\]{},:])'
)


class Reader:
    """The tokens of a text, and the position of the next one. Its methods raise `ValueError` for a wrong token."""

    def __init__(self, text):
        self.tokens = []
        position = 0
        while position < len(text):
            match = TOKEN.match(text, position)
            if not match:
                raise ValueError(f"unknown token in line {text.count(chr(10), 0, position) + 1}")
            if match.lastgroup:
                self.tokens.append((match.lastgroup, match.group(match.lastgroup)))
            position = match.end()
        self.tokens.append(("end", ""))
        self.position = 0

    def peek(self, ahead=0):
        """Returns the kind and the text of a token, `ahead` tokens after the next one."""
        return self.tokens[min(self.position + ahead, len(self.tokens) - 1)]

    def take(self):
        """Returns the next token and moves past it."""
        token = self.peek()
        self.position += 1
        return token

    def items(self, closing, read):
        """Reads items that commas separate, up to the sign `closing`."""
        items = []
        while self.peek() != ("sign", closing):
            items.append(read())
            if self.peek() == ("sign", ","):
                self.take()
        self.take()
        return items

    def pair(self):
        """Reads a field of a struct: a name and a value."""
        key = self.take()[1]
        if self.take() != ("sign", ":"):
            raise ValueError(f"expected a colon after {key}")
        return key, self.value()

    def key_and_value(self):
        """Reads an entry of a map, whose key is a value too."""
        key = self.value()
        if self.take() != ("sign", ":"):
            raise ValueError(f"expected a colon after {key}")
        return key, self.value()

    def parentheses(self):
        """Reads a struct as a dictionary, or a tuple, after the opening parenthesis."""
        if self.peek()[0] == "word" and self.peek(1) == ("sign", ":"):
            return dict(self.items(")", self.pair))
        return tuple(self.items(")", self.value))

    def value(self):
        """Reads any value."""
        kind, text = self.take()
        if kind == "number":
            number = float(text.replace("_", ""))
            return int(number) if number.is_integer() and "." not in text else number
        if kind == "string":
            return text
        if kind == "word" and text in ("true", "false"):
            return text == "true"
        if kind == "word":
            if self.peek() != ("sign", "("):
                return text
            self.take()
            return {"type": text, **self.parentheses()}
        if (kind, text) == ("sign", "("):
            return self.parentheses()
        if (kind, text) == ("sign", "["):
            return self.items("]", self.value)
        if (kind, text) == ("sign", "{"):
            return dict(self.items("}", self.key_and_value))
        raise ValueError(f"unexpected {text!r}")


def parse(text):
    """Returns the value of a RON text: structs as dictionaries, whose entry `type` is the name of a named struct."""
    return Reader(text).value()
