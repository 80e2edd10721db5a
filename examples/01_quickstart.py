# %% [markdown]
# # Quickstart: fewer tokens, the answer still there
#
# A handbook of seventeen documents, forty-four questions, no language model and no network: what is left of the tokens,
# whether the answer is among them, and what that saves at the price that you pay.
#
# **Install**, from a clone of the repository: `pip install . matplotlib`, and `pip install notebook` if you want to
# run this page. Run it in the folder `examples/`, where its documents are. Without Jupyter,
# `python examples/01_quickstart.py` does the same and writes the figures to files.
#
# *Something is missing?* `No module named 'squeeze'` or `'matplotlib'`: the kernel is not the Python that you installed
# into; `python -m pip install …` with the kernel's Python. `No module named 'kit'`: start Jupyter in `examples/`.
# Behind a proxy, pip reads `HTTPS_PROXY`, or takes `--proxy`.

# %%
from rank_bm25 import BM25Okapi

import squeeze
from kit import bars, before_after, documents, keeps, lines, rows, show

handbook = documents("lighthouses")
questions = rows("questions.jsonl")
len(handbook), len(questions)

# %% [markdown]
# ## One call
#
# The whole handbook goes in, and a limit in tokens. What comes out is what a prompt has room for.

# %%
question = "Who invented the screw pile?"
result = squeeze.compress(handbook, question, max_tokens=150)
print(f"{result.tokens_before:,} tokens became {result.tokens_after}\n")
print(result.text)

# %% [markdown]
# Nothing was reworded. Every piece is a slice of its source, so each can be cited:

# %%
for index in result.texts():
    passage = result.passages[index]
    for start, end in result.spans(index):
        print(f"{passage.id} [{start}:{end}]  {' '.join(passage.text[start:end].split())[:76]}…")

# %% [markdown]
# The result shows itself: what was kept, what was left out, and why. In a terminal,
# `squeeze compress … --format html -o FILE` writes the same page. (A preview on the web may drop the page's style; in
# Jupyter it is there.)

# %%
show(squeeze.compress(handbook[9:13], question, max_tokens=150), "quickstart.html")

# %% [markdown]
# ## A whole set of questions
#
# As in an application, a retriever first finds eight of the documents, here by BM25. Then a tenth of their tokens is
# kept. For each question we know the answer and the document that has it, so we can look whether it survived.

# %%
index = BM25Okapi([passage.text.lower().split() for passage in handbook])


def retrieve(question, top=8):
    scores = index.get_scores(question.lower().split())
    best = sorted(range(len(handbook)), key=lambda number: -scores[number])[:top]
    return [handbook[number] for number in best]


def ask(method, keep):
    """For each question the result, and whether the answer is still in it."""
    found = []
    for row in questions:
        result = squeeze.compress(retrieve(row["question"]), row["question"], method=method, keep=keep)
        found.append((result, keeps(result, row["file"], row["answer"])))
    return found


def has(row):
    """Whether the retriever finds the document with the answer."""
    return any(row["file"] == passage.id for passage in retrieve(row["question"]))


retrieved = sum(map(has, questions))
print(f"the retriever finds the document with the answer for {retrieved} of {len(questions)} questions")

# %%
asked = ask("edu", keep=0.1)
before = [result.tokens_before for result, _ in asked]
after = [result.tokens_after for result, _ in asked]
kept = [there for _, there in asked]
print(f"tokens of a prompt: {sum(before) / len(before):,.0f} before, {sum(after) / len(after):,.0f} after")
print(f"answers still there: {sum(kept)} of the {retrieved} that were retrieved")

# %%
title = f"A tenth of the tokens, {sum(kept)} of {retrieved} answers"
lost = [not there and has(row) for there, row in zip(kept, questions, strict=True)]
show(before_after(before, after, lost, title), "quickstart-tokens.png")

# %% [markdown]
# ## How far down can it go?
#
# The same questions at smaller budgets. Beside `edu`, the default, stand what people do without a compressor: keep the
# best whole documents (`passages`), or cut off the end (`truncate`).

# %%
budgets = [0.05, 0.1, 0.15, 0.25, 0.5]
survival = {
    method: [sum(there for _, there in ask(method, keep)) / retrieved for keep in budgets]
    for method in ("edu", "passages", "truncate")
}
print("budget  ", *(f"{keep:6.0%}" for keep in budgets))
for method, shares in survival.items():
    print(f"{method:8}", *(f"{share:6.0%}" for share in shares))

# %%
title = "Answers kept against the share of tokens kept"
axes = ("share of the tokens kept", "answers still there")
show(lines(budgets, survival, title, axes, peers=("passages", "truncate")), "quickstart-budget.png")

# %% [markdown]
# ## What it is worth
#
# Set the price of a million input tokens of your model, and how long your answers are. The price of the answer stays.

# %%
INPUT_PRICE, OUTPUT_PRICE, ANSWER_TOKENS = 2.50, 10.00, 150  # dollars for a million tokens; tokens of an answer

advice = squeeze.advise(
    retrieve(question),
    question,
    keep=0.1,
    profile={"input_price": INPUT_PRICE, "output_price": OUTPUT_PRICE},
    answer_tokens=ANSWER_TOKENS,
)
print(advice.reason)

# %%
whole = squeeze.compress(handbook).tokens_before
cost = {
    "whole handbook": whole,
    "8 documents retrieved": sum(before) / len(before),
    "retrieved, then squeezed": sum(after) / len(after),
}
cost = {name: (tokens * INPUT_PRICE + ANSWER_TOKENS * OUTPUT_PRICE) / 1e6 * 1000 for name, tokens in cost.items()}
title = f"Dollars for 1,000 questions, at ${INPUT_PRICE:.2f} per million input tokens"
show(bars(cost, title, "${:,.2f}", best=["retrieved, then squeezed"]), "quickstart-cost.png")
print(*(f"${value:.2f} {name}" for name, value in cost.items()), sep="\n")

# %% [markdown]
# ## What to know
#
# - Tokens are counted by an estimate that needs no package and errs to the safe side. `tokenizer="cl100k_base"`
#   (`pip install ".[tokens]"`) or `"hf:"` plus a model's folder counts exactly.
# - An answer can be lost, as the cross shows: where a question shares no word and no meaning with the sentence that
#   answers it. A larger budget is the remedy; `result.units()` tells what was left out, and why.
# - Next: your own application ([LlamaIndex](02_llama_index.ipynb), [LangChain](03_langchain.ipynb)), logs and records
#   [without losing a byte](04_lossless.ipynb), [vectors in place of tokens](05_soft_tokens.ipynb), and
#   [your own data](06_your_own_data.ipynb).
