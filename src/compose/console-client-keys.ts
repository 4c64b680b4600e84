import type { JsonObject } from "../contract/json.ts";
import { sayLocalTime } from "../contract/local-time.ts";
import { issueClientKey } from "../service/issue-key.ts";
import { deleteClientKey, listClientKeys } from "../store/keys.ts";
import type { Db } from "../store/tables.ts";
import { nameKey } from "../text/name-key.ts";
import { clientRecord, describeKeyChange } from "./by-hand.ts";
import { readOwn, type Acting, type ConsoleAct } from "./console-act.ts";
import { keyMadeBefore, noSuchKey } from "./console-keys.ts";
import { changesKeys, makeOnce, readProject, revokeOne } from "./console-making.ts";
import { clock, random } from "./embedded.ts";

/** The keys of a project's apps, made and revoked by whoever makes its other keys. */

export const clientKeyActs: Readonly<Record<string, ConsoleAct>> = {
  make_client_key: { isThere: changesKeys, run: makeClientKey },
  revoke_client_key: { isThere: changesKeys, run: revokeClientKey },
};

async function makeClientKey({ once }: JsonObject, acting: Acting): Promise<JsonObject> {
  const key = await makeOnce(
    {
      form: ["client", String(once)],
      change: describeKeyChange("keys create", readProject(acting)),
      madeBefore: keyMadeBefore,
      make: (db, place) => issueClientKey(db, { clock, random }, place),
      after: clientRecord,
    },
    acting,
  );
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
    { name: "created", text: sayLocalTime(created_at, acting.keyContext.timeZone) },
    { name: "then", text: "apps with this key can no longer look up their links" },
  ];
  const title = `Revoke the client key ${nameKey(key)}`;
  const preview = { title, button: "Revoke key", destroys: true, facts };
  const remove = async (db: Db) => {
    if (!(await deleteClientKey({ db, projectId: project_id }, id))) throw noSuchKey();
  };
  const request = { target: id, state: clientRecord, preview };
  const change = describeKeyChange("keys revoke", project_id);
  await revokeOne({ change, request, before: clientRecord, remove }, acting);
  return { revoked: { id } };
}
