# %% [markdown]
# # Your own data: `squeeze bench`, and how to read it
#
# Whether a method suits you is decided by your documents and your questions. `squeeze bench` measures on them what is
# kept of the evidence, how many tokens that takes and how long, beside plain baselines. Nothing leaves the machine.
#
# **Install**, from a clone of the repository: `pip install . matplotlib`, and `pip install notebook` to run this page
# in the folder `examples/`. `python examples/06_your_own_data.py` does the same without Jupyter.
#
# *Something is missing?* `squeeze: command not found`: it is installed beside the Python that you installed into;
# `python -m pip show -f squeeze-rag` tells where. `No module named 'kit'`: start Jupyter in `examples/`.

# %%
import json
import tempfile
from pathlib import Path

import squeeze
from kit import DATA, documents, lines, rows, shell, show

# %% [markdown]
# ## What it needs
#
# Either **a folder of documents and a file of questions**, a line each. `answer` are words that stand in the file, just
# as they are written there; twenty questions that your users really ask are a good beginning.

# %%
print(*sorted(file.name for file in (DATA / "lockgate").iterdir()), sep="  ")
print(*(json.dumps(row) for row in rows("lockgate.jsonl")[:3]), sep="\n")

# %% [markdown]
# Or **rows**, which hold what your retriever found, so that it is measured behind your own retriever:

# %%
handbook = {page.id: page for page in documents("lighthouses")}


def row_of(question, found):
    """A row for `squeeze bench`: question, answers, and the documents that were found."""
    return {
        "question": question["question"],
        "answers": [question["answer"]],
        "documents": [
            {"id": page.id, "title": page.title, "text": page.text, "is_gold": page.id == question["file"]}
            for page in found
        ],
    }


asked = rows("questions.jsonl")[:12]
made = [row_of(question, list(handbook.values())[2:12]) for question in asked]
made = [row for row in made if any(document["is_gold"] for document in row["documents"])]
folder = Path(tempfile.mkdtemp())
(folder / "support.jsonl").write_text("\n".join(map(json.dumps, made)), encoding="utf-8")
print(len(made), "rows; the first begins", json.dumps(made[0])[:210], "…")

# %% [markdown]
# ## One command

# %% tags=["varies"]
told = shell(
    "squeeze bench lockgate --questions lockgate.jsonl --methods edu,passages,ram_text --keep 0.5,0.25,0.1,0.05 "
    "--workers 1 --json -"
)
report = json.loads(told)

# %% [markdown]
# ## How to read it
#
# - **gold**: in which share of the rows the answer is still there, in the document that has it. The two numbers beside
#   it are the 95 % interval: with 24 rows, differences of less than a tenth may be chance. Take more rows.
# - **against bm25**: the difference to the reference, row by row, with its interval. If the interval holds zero, the
#   method is no better than the best sentences by BM25; then use the cheaper one.
# - **tokens kept**: what was really kept. **over**: results above the limit. It has to be 0.
# - **p50, p95**: milliseconds for one row; half, and nineteen of twenty, are faster. They add to your time to the first
#   token, and reading fewer tokens takes away from it: `squeeze.advise` sets one against the other. Run it on a machine
#   that does nothing else.
# - `full` is the input as it is, `truncation` and `random` are the floor.

# %%
shares = sorted({line["keep"] for line in report["results"] if line["keep"]})
table = {}
for line in report["results"]:
    if line["keep"]:
        table.setdefault(line["method"], {})[line["keep"]] = line["value"]
print("tokens kept    ", *(f"{share:6.0%}" for share in shares))
for method, values in table.items():
    print(f"{method:15}", *(f"{values[share]:6.0%}" for share in shares))

# %%
series = {name: [table[name][share] for share in shares] for name in ("edu", "bm25", "passages", "truncation")}
title = "Answers kept against the share of tokens kept, your documents"
show(
    lines(
        shares,
        series,
        title,
        ("share of the tokens kept", "answers still there"),
        peers=("bm25", "passages", "truncation"),
    ),
    "bench.png",
)

# %% [markdown]
# These questions use the words of the documents, and so all answers survive even the smallest budget; yours may be
# harder, which is why you measure. `--plot FILE` draws such a picture, with the time beside it. Choose the smallest
# budget at which your method's line is still flat.
#
# ## Which answers are lost?
#
# The report has a line for each row and method. Here are those that BM25 loses at a tenth, and what `edu` does there.

# %%
questions = rows("lockgate.jsonl")
kept = {(line["method"], line["keep"], line["row"]): line["gold"] for line in report["lines"]}
for number, row in enumerate(questions):
    if not kept["bm25", 0.1, number]:
        print(f"{'kept' if kept['edu', 0.1, number] else 'lost':5} by edu: {row['question']}")

# %% [markdown]
# To see why something is left out, compress that one row and look at its units: their scores, and what came before.

# %%
row = questions[9]
manual = documents("lockgate")
result = squeeze.compress(manual, row["question"], keep=0.02)
print(row["question"], "\n")
for unit in sorted(result.units(), key=lambda unit: -(unit.score or 0))[:5]:
    text = " ".join(manual[unit.passage].text[unit.start : unit.end].split())
    print(f"{unit.score:.2f}  {'kept' if unit.kept else 'left out':8}  {unit.reason:10}  {text[:74]}")

# %% [markdown]
# ## The same with rows
#
# A second set beside the first would get columns of its own.

# %% tags=["varies"]
told = shell(
    f"squeeze bench '{(folder / 'support.jsonl').as_posix()}' --methods edu --keep 0.1 --workers 1 --json -",
    shown="squeeze bench support.jsonl --methods edu --keep 0.1 --workers 1 --json -",
)

# %%
for line in json.loads(told)["results"]:
    print(f"{line['method']:14} {line['value']:6.0%} of the answers in {line['tokens_kept']:6.1%} of the tokens")

# %% [markdown]
# ## What to know
#
# - Exit code 1: a result was over its limit. 3: rows, answers or packages were skipped, and the report says which.
# - `--reader FOLDER` lets a local model answer, `--reader-url` an endpoint: then the F1 of the answers stands beside
#   what was kept. Texts are sent to the endpoint, and only then.
# - `--tokenizer cl100k_base`, or `hf:` and your model's folder, counts as your model does.
# - `squeeze bench --list` names what can be measured, and the programs that measure more.
