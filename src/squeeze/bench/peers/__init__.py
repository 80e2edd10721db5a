"""The packages that people would use instead: one adapter each, run in an environment of its own.

`make peers` builds the environments in `.venv-peers/` (or `$SQUEEZE_PEERS`) from `requirements/` and measures all of
them; `squeeze bench --methods edu,trimwise` measures one beside our methods. An adapter is a module with

- `runner(tokenizer, options)`, called here: usually a `Peer`, which says what environment it needs, and
- `start(options)`, called in that environment, where squeeze is not installed: it imports the package and returns
  a function `(texts, question, limit, share) -> text`, with the limit in tokens and as a share of the input.

Both stand in one file, so it imports nothing but the standard library at the top.
"""
