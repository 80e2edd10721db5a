"""Tunes a Hugging Face model to read meta-tokens, and reports what that did.

    python -m squeeze.train.meta_tokens --model FOLDER --out FOLDER [--rows FILE ...] [--made-up N] [--minutes M] ...

Reserves `<Dict>`, `</Dict>` and meta-tokens, resizes the embeddings, codes the context of each prompt (never the
answer), and trains LoRA matrices and the rows of the new tokens with the loss on the answer only. OUT gets the adapter
(peft) and the tokenizer; `load_tuned` reads both back. The report is the mean log-likelihood of answers on questions
that were not trained on: plain context, coded context before tuning, coded context after tuning, and plain context
after tuning. Needs the `soft` extra.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from squeeze.bench.machine import write_report
from squeeze.errors import need
from squeeze.soft.layers import LINEAR
from squeeze.soft.models import load_hf_tokenizer, load_model
from squeeze.train.meta_data import IGNORED, Builder, Example, Question, made_up, of_rows

RECIPE = "meta_tokens.json"
"""The file beside the adapter that says how tokens were reserved."""


def reserve(model: Any, tokenizer: Any, count: int, seed: int = 0) -> list[int]:
    """The ids of the two delimiters and `count` meta-tokens, added to the tokenizer and to the model's embeddings.

    New rows are the mean of the old ones with a little noise, so that no two are alike.
    """
    torch = need("torch", extra="soft")
    names = ["<Dict>", "</Dict>", *(f"<M{at}>" for at in range(count))]
    tokenizer.add_special_tokens({"extra_special_tokens": names}, replace_extra_special_tokens=False)
    ids = [int(token) for token in tokenizer.convert_tokens_to_ids(names)]
    old = model.get_input_embeddings().weight.shape[0]
    model.resize_token_embeddings(max(len(tokenizer), old), mean_resizing=False)
    noise = torch.Generator().manual_seed(seed)
    tables = {id(layer.weight): layer.weight for layer in (model.get_input_embeddings(), model.get_output_embeddings())}
    with torch.no_grad():
        for table in tables.values():
            known = table[: min(ids)].float()
            rows = torch.randn(len(ids), known.shape[1], generator=noise) * known.std(dim=0) * 0.2 + known.mean(dim=0)
            table[ids] = rows.to(table.dtype)
    return ids


def with_lora(model: Any, reserved: Sequence[int], rank: int, seed: int) -> Any:
    """The model with LoRA matrices on its linear layers and trainable embeddings of the reserved tokens."""
    torch, peft = need("torch", extra="soft"), need("peft", extra="soft")
    torch.manual_seed(seed)
    present = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    embedding = next(name for name, layer in model.named_modules() if layer is model.get_input_embeddings())
    config = peft.LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        target_modules=[name for name in LINEAR if name in present],
        trainable_token_indices={embedding.rpartition(".")[2]: list(reserved)},
        task_type="CAUSAL_LM",
    )
    return peft.get_peft_model(model, config)


def load_tuned(model: str | Path, folder: str | Path) -> tuple[Any, Any, list[int]]:
    """The model with what this program trained, its tokenizer, and the reserved ids for `encode` and `decode`.

    Args:
        model: folder or hub name of the model that was tuned.
        folder: what the program wrote.
    """
    recipe = json.loads((Path(folder) / RECIPE).read_text("utf-8"))
    base, tokenizer = load_model(model), load_hf_tokenizer(model)
    reserved = reserve(base, tokenizer, recipe["reserve"], recipe["seed"])
    return need("peft", extra="soft").PeftModel.from_pretrained(base, str(folder)).eval(), tokenizer, reserved


def loss_of(model: Any, example: Example) -> Any:
    """Mean negative log-likelihood of the answer."""
    torch = need("torch", extra="soft")
    answer = sum(label != IGNORED for label in example.labels)
    ids = torch.tensor([example.ids], device=next(model.parameters()).device)
    logits = model(input_ids=ids, logits_to_keep=answer + 1).logits[0, -answer - 1 : -1]
    return torch.nn.functional.cross_entropy(logits.float(), ids[0, -answer:])


def likelihood(model: Any, examples: Sequence[Example]) -> float:
    """Mean log-likelihood per answer token, each question counting alike."""
    torch = need("torch", extra="soft")
    model.eval()
    with torch.no_grad():
        return -sum(float(loss_of(model, example)) for example in examples) / max(len(examples), 1)


def train(model: Any, examples: Sequence[Example], options: argparse.Namespace) -> list[float]:
    """The loss of each step; ends after `steps` or `minutes`, whichever comes first."""
    torch = need("torch", extra="soft")
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=options.rate, weight_decay=0.0)
    order, losses, started = random.Random(options.seed), list[float](), time.monotonic()
    model.train()
    for step in range(options.steps):
        spent = (time.monotonic() - started) / 60
        if spent >= options.minutes:
            break
        left = 1 - max(step / options.steps, spent / options.minutes)
        for group in optimizer.param_groups:
            group["lr"] = options.rate * min((step + 1) / 10, 1.0) * max(left, 0.1)
        total = 0.0
        for example in order.sample(list(examples), min(options.batch, len(examples))):
            loss = loss_of(model, example) / options.batch
            loss.backward()
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(total)
        if step % 10 == 0:
            print(json.dumps({"step": step, "loss": round(total, 4), "minutes": round(spent, 1)}), flush=True)
    return losses


def questions(options: argparse.Namespace) -> tuple[list[Question], dict[str, list[Question]]]:
    """What is trained on, and what is measured, by name."""
    trained = list(made_up(options.made_up, options.seed, options.records))
    for path in options.rows:
        trained += of_rows(path, options.per_file)
    tests = {"made_up": list(made_up(options.tests, options.seed + 1_000_003, options.records))}
    for path in options.test_rows:
        tests[Path(path).name.partition(".")[0]] = list(of_rows(path, options.tests))
    return trained, tests


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="folder or hub name")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--rows", nargs="*", default=[], metavar="FILE", help="rows with documents and answers")
    parser.add_argument("--test-rows", nargs="*", default=[], metavar="FILE", help="rows that are only measured")
    parser.add_argument("--per-file", type=int, default=1000, help="rows of each file")
    parser.add_argument("--made-up", type=int, default=2000, help="made-up questions")
    parser.add_argument("--records", type=int, default=8, help="records in a made-up context")
    parser.add_argument("--tests", type=int, default=40, help="questions of each kind that are measured")
    parser.add_argument("--reserve", type=int, default=64, help="meta-tokens")
    parser.add_argument("--tokens", type=int, default=512, help="longest plain context")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--report", type=Path, metavar="FILE")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains and reports."""
    options = parse(arguments)
    need("torch", extra="soft").set_num_threads(options.threads)
    tokenizer, model = load_hf_tokenizer(options.model), load_model(options.model)
    trained, tests = questions(options)
    plain = {name: Builder(tokenizer, (), options.tokens).examples(items) for name, items in tests.items()}
    found: dict[str, dict[str, Any]] = {
        name: {"questions": len(examples), "plain": likelihood(model, examples)} for name, examples in plain.items()
    }
    reserved = reserve(model, tokenizer, options.reserve, options.seed)
    builder = Builder(tokenizer, reserved, options.tokens)
    coded = {name: builder.examples(items, options.seed + 500_000) for name, items in tests.items()}
    for name, examples in coded.items():
        contexts = sum(len(example.prompt) + example.saved for example in examples)
        found[name]["saved"] = sum(example.saved for example in examples) / max(contexts, 1)
        found[name]["coded_untuned"] = likelihood(model, examples)
        print(json.dumps({name: found[name]}), flush=True)
    examples = builder.examples(trained, options.seed)
    if not examples:
        raise SystemExit(f"no context of {len(trained)} questions has at most {options.tokens} tokens; raise --tokens")
    tuned = with_lora(model, reserved, options.rank, options.seed)
    started = time.monotonic()
    losses = train(tuned, examples, options)
    for name in tests:
        found[name]["coded_tuned"] = likelihood(tuned, coded[name])
        found[name]["plain_tuned"] = likelihood(tuned, plain[name])
        found[name] = {key: round(value, 4) for key, value in found[name].items()}
    tuned.save_pretrained(str(options.out), save_embedding_layers=False)
    tokenizer.save_pretrained(str(options.out))
    recipe = {"reserve": options.reserve, "seed": options.seed}
    (options.out / RECIPE).write_text(json.dumps(recipe) + "\n", encoding="utf-8")
    losses = [round(loss, 4) for loss in losses]
    summary = {
        "log_likelihood_per_answer_token": found,
        "examples": len(examples),
        "steps": len(losses),
        "minutes": round((time.monotonic() - started) / 60, 1),
        "first_losses": losses[:10],
        "last_losses": losses[-10:],
    }
    print(json.dumps(summary, indent=1))
    if options.report:
        settings = {
            key: value
            for key, value in vars(options).items()
            if key not in ("out", "report", "model", "rows", "test_rows")
        }
        files = [Path(path).name for path in itertools.chain(options.rows, options.test_rows)]
        write_report(
            options.report,
            "squeeze.train.meta_tokens",
            summary,
            model=Path(options.model).name,
            files=files,
            **settings,
        )


if __name__ == "__main__":
    main()
