import {
  emptyProjectBin,
  listDeleted,
  nameIdentifier,
  restoreFromBin,
  type DeletedItem,
} from "../admin/bin.ts";
import type { Operator } from "../admin/operator.ts";
import { clock } from "../app/process/embedded.ts";
import { readTimeZone } from "../app/process/time-zone.ts";
import { requireProject, withOperator } from "../app/process/with-operator.ts";
import type { JsonObject } from "../contract/json.ts";
import { findKindNamed } from "../contract/resource-kind.ts";
import { isBlank } from "../contract/text.ts";
import { countBin } from "../store/bin.ts";
import type { StoredProject } from "../store/projects.ts";
import { quote } from "../text/show-hidden.ts";
import { confirmUntilStopped, listenForStop } from "./terminal/ask-to-go-on.ts";
import { projectHelp, readPage, type Command, type Invocation } from "./terminal/command.ts";
import {
  createWriteTime,
  presentRecord,
  print,
  printJson,
  printTable,
  say,
  sayPage,
} from "./terminal/output.ts";

const binFlags = {
  "--project NAME": projectHelp,
  "--page N": "list: the page to print (100 entries per page)",
  "--yes": "empty: skip the confirmation",
  "--json": "print `{bin, meta}`, the link or app, or `{emptied}`",
};

export const bin: Command<typeof binFlags> = {
  usages: {
    "bin [list]": ["list deleted links and apps of the last 30 days", list],
    "bin restore ID": ["restore a deleted link or app; `bin list` prints its ID", restore],
    "bin empty": ["permanently delete everything in the bin", empty],
  },
  flags: binFlags,
};

type BinInvocation = Invocation<typeof binFlags>;

/** Runs `work` on the project that the flags name. */
function withProject<Result>(
  { config, flags }: BinInvocation,
  work: (operator: Operator, project: StoredProject) => Promise<Result>,
): Promise<Result> {
  return withOperator(config, async (operator) =>
    work(operator, await requireProject(operator.store.db, flags.project)),
  );
}

const entriesPerPage = 100;

async function list(invocation: BinInvocation): Promise<void> {
  const { config, flags } = invocation;
  const search = { page: readPage(flags.page), limit: entriesPerPage };
  const { items, meta } = await withProject(invocation, ({ store: { db } }, { id: projectId }) =>
    listDeleted({ db, projectId }, clock.now(), search),
  );
  if (flags.json === true) return printJson({ bin: items.map(present), meta });
  if (meta.count === 0) return say("The bin is empty.");
  const writeTime = createWriteTime(readTimeZone(config));
  printTable(
    ["KIND", "ID", "NAME", "PATH OR IDENTIFIER", "DELETED", "KEPT UNTIL"],
    items.map(({ kind, id, name, identifier, deleted_at, until }) => {
      const texts = [name === null ? "" : quote(name), quote(identifier)];
      return [kind, id, ...texts, writeTime(deleted_at), writeTime(until)];
    }),
  );
  sayPage(meta, "entries");
}

function present({ kind, id, name, identifier, ...times }: DeletedItem) {
  return presentRecord({ kind, id, name, [nameIdentifier(kind)]: identifier, ...times });
}

async function restore(invocation: BinInvocation, id: string): Promise<void> {
  const { project, ...entry } = await withProject(invocation, async (operator, project) => {
    return { project, ...(await restoreFromBin(operator, project, id.toLowerCase())) };
  });
  const { kind } = entry;
  const restored: JsonObject = { ...entry.restored };
  if (invocation.flags.json === true) return printJson(restored);
  print(entry.restored.id);
  const { label = kind } = findKindNamed(kind) ?? {};
  const names = [restored["name"], restored[nameIdentifier(kind)]];
  const name = names.find((text) => !isBlank(text));
  // Such as `the link "Newsletter"`. Without a name, the link's path or ID is used.
  const thing = typeof name === "string" ? `the ${label} ${quote(name)}` : `the ${label}`;
  say(`Restored ${thing} in project ${quote(project.subdomain)}.`);
}

/** Returns false if the user rejects it. */
function empty(invocation: BinInvocation): Promise<boolean> {
  const { flags, host } = invocation;
  const conclude = (emptied: number, sentence: string) => {
    if (flags.json === true) printJson({ emptied });
    (flags.json === true ? say : print)(sentence);
  };
  return withProject(invocation, async (operator, { id, subdomain }) => {
    // Items that are deleted while the user decides are not part of the question.
    const upTo = clock.now();
    const count = await countBin({ db: operator.store.db, projectId: id }, upTo);
    if (count === 0) {
      conclude(0, "The bin is empty.");
      return true;
    }
    say(`The bin of the project ${subdomain} has ${count} deleted links and apps.`);
    // The bin is emptied as a whole, so the first Ctrl-C must not end the process.
    if (flags.yes === true) listenForStop(host);
    else {
      if (host.input.isTTY) say("Deleted entries cannot be restored.");
      if (!(await confirmUntilStopped(host))) {
        conclude(0, "Nothing was changed.");
        return false;
      }
    }
    await emptyProjectBin(operator, id, upTo, count);
    conclude(count, `Deleted ${count === 1 ? "1 entry" : `${count} entries`} permanently.`);
    return true;
  });
}
