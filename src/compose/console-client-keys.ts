import type { JsonObject } from "../contract/json.ts";
import { sayLocalTime } from "../contract/local-time.ts";
import { issueClientKey } from "../service/issue-key.ts";
import { deleteClientKey, listClientKeys } from "../store/client-keys.ts";
import { Duplicate } from "../store/store.ts";
import { clientRecord, describeKeyChange } from "./by-hand.ts";
import { mayChange, readNoting, readOwn, requireYes } from "./console-act.ts";
import type { Acting, ConsoleAct } from "./console-act.ts";
import {
  deriveId,
  madeBefore,
  managesKeys,
  noSuchKey,
  readProject,
  requireMaker,
} from "./console-keys.ts";
import { nameKey } from "../text/name-key.ts";
import { clock, random } from "./embedded.ts";
import { journalAct } from "./journal-command.ts";

/** The keys of a project's apps, made and revoked by whoever makes its other keys. */

const changesKeys = (acting: Acting) => managesKeys(acting) && mayChange(acting);

export const clientKeyActs: Readonly<Record<string, ConsoleAct>> = {
  make_client_key: { isThere: changesKeys, run: makeClientKey },
  revoke_client_key: { isThere: changesKeys, run: revokeClientKey },
};

/** Of one form, however often it is sent, one key comes. */
async function makeClientKey({ once }: JsonObject, acting: Acting): Promise<JsonObject> {
  const project_id = readProject(acting);
  const id = deriveId([project_id, acting.keyContext.key_print, "client", String(once)]);
  const noting = await readNoting(acting);
  if ((await noting.history.count({ realm: project_id }, { target: id })) > 0) throw madeBefore();
  const key = await journalAct(
    noting,
    { ...describeKeyChange("keys create", project_id), id },
    () =>
      readOwn(acting).store.write(async (db) => {
        await requireMaker(db, acting);
        return issueClientKey(db, { clock, random }, { id, project_id });
      }),
    () => ({ id, name: null, before: null, after: clientRecord }),
  ).catch((error: unknown) => {
    throw error instanceof Duplicate ? madeBefore() : error;
  });
  return { key };
}

async function revokeClientKey(args: JsonObject, acting: Acting): Promise<JsonObject> {
  const { store } = readOwn(acting);
  const project_id = readProject(acting);
  const keys = await listClientKeys(store.db, project_id);
  const key = keys.find(({ id }) => id === args["id"]);
  if (key === undefined) throw noSuchKey();
  const { id, created_at } = key;
  const facts = [
    { name: "made", text: sayLocalTime(created_at, acting.keyContext.timeZone) },
    { name: "then", text: "apps that have it are told of no link any more, for good" },
  ];
  const preview = { title: `Revoke the client key ${nameKey(key)}`, button: "Revoke key" };
  const request = { tool: "keys revoke", args: { id }, target: id, state: clientRecord };
  await requireYes({ ...request, preview: { ...preview, destroys: true, facts } }, acting);
  await journalAct(
    await readNoting(acting),
    { ...describeKeyChange("keys revoke", project_id), id },
    () =>
      store.write(async (db) => {
        await requireMaker(db, acting);
        if (!(await deleteClientKey(db, id))) throw noSuchKey();
      }),
    () => ({ id, name: null, before: clientRecord, after: null }),
  );
  return { revoked: { id } };
}
