import {
  emptyProjectBin,
  listDeleted,
  nameIdentifier,
  restoreFromBin,
  type DeletedItem,
} from "../admin/bin.ts";
import { clock } from "../app/process/embedded.ts";
import { readTimeZone } from "../app/process/time-zone.ts";
import { requireProject, withOperator } from "../app/process/with-operator.ts";
import type { JsonObject } from "../contract/json.ts";
import { findKindNamed } from "../contract/resource-kind.ts";
import { countBin } from "../store/bin.ts";
import { quote } from "../text/show-hidden.ts";
import { confirmAtTerminal, listenForStop } from "./terminal/ask-to-go-on.ts";
import { projectHelp, readPage, type Command, type Invocation } from "./terminal/command.ts";
import {
  conclude,
  createWriteTime,
  presentRecord,
  print,
  printJson,
  printTable,
  say,
  sayPage,
} from "./terminal/output.ts";

/** `waypost bin` lists, restores and permanently deletes a project's deleted links and apps. */

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

async function list({ config, flags }: BinInvocation): Promise<void> {
  const search = { page: readPage(flags.page), limit: 100 };
  const { items, meta } = await withOperator(config, async ({ store: { db } }) => {
    const { id: projectId } = await requireProject(db, flags.project);
    return listDeleted({ db, projectId }, clock.now(), search);
  });
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

async function restore({ config, flags }: BinInvocation, id: string): Promise<void> {
  const { kind, restored, project } = await withOperator(config, async (operator) => {
    const project = await requireProject(operator.store.db, flags.project);
    return { project, ...(await restoreFromBin(operator, project, id.toLowerCase())) };
  });
  const record: JsonObject = { ...restored };
  if (flags.json === true) return printJson(record);
  print(restored.id);
  const { label = kind } = findKindNamed(kind) ?? {};
  const name = restored.name || String(record[nameIdentifier(kind)]);
  say(`Restored the ${label} ${quote(name)} in project ${quote(project.subdomain)}.`);
}

function empty({ config, flags, runtime }: BinInvocation): Promise<boolean> {
  const { json = false, yes = false } = flags;
  return withOperator(config, async (operator) => {
    const { id, subdomain } = await requireProject(operator.store.db, flags.project);
    // Items that are deleted while the user is deciding stay in the bin.
    const upTo = clock.now();
    const count = await countBin({ db: operator.store.db, projectId: id }, upTo);
    if (count === 0) {
      conclude(json, { emptied: 0 }, "The bin is empty.");
      return true;
    }
    say(`The bin of the project ${subdomain} has ${count} deleted links and apps.`);
    // --yes needs this too, so that the first Ctrl-C cannot interrupt the deletion halfway.
    const signal = listenForStop(runtime);
    if (!yes && runtime.input.isTTY) say("Deleted entries cannot be restored.");
    if (!yes && !(await confirmAtTerminal(runtime.input, signal))) {
      conclude(json, { emptied: 0 }, "Nothing was changed.");
      return false;
    }
    await emptyProjectBin(operator, id, upTo, count);
    const entries = count === 1 ? "1 entry" : `${count} entries`;
    conclude(json, { emptied: count }, `Deleted ${entries} permanently.`);
    return true;
  });
}
