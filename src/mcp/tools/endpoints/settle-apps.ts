import { androidApps, findRegistration, iosApps } from "../../../contract/apps.ts";
import { uuidPattern } from "../../../contract/fields.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKind, type ResourceKind } from "../../../contract/resource-kind.ts";
import { bringsNewApp } from "../../../contract/rules/app-rules.ts";
import { isBlank } from "../../../contract/text.ts";
import type { Call } from "../tool.ts";
import { findRecord, readRecord, type Reading } from "./find-record.ts";
import { findByName } from "./find-by-name.ts";
import { findTarget, refuseSeveral } from "./find-target.ts";
import type { NewApp } from "./preview-app.ts";
import { refuseUnregistered } from "./refuse-unregistered.ts";

type Asking = Pick<Call, "ask" | "keyContext">;

/**
 * Which apps a link's fields mean. An app that is registered is sent by its id: else, if it were
 * deleted meanwhile, the same call would register it anew, and nobody would have been asked.
 */
export async function settleApps(input: JsonObject, call: Asking): Promise<SettledApps> {
  const registered: NewApp[] = [];
  const chosen: JsonObject[] = [];
  const missing: ResourceKind[] = [];
  const settled: Record<string, unknown> = { ...input };
  for (const kind of kinds) {
    const choice = input[kind.name];
    if (typeof choice !== "object" || choice === null) continue;
    // The arguments were checked by the entry's schema, in which this is an object.
    const fields = await settleId(kind, choice as JsonObject, call);
    settled[kind.name] = fields;
    const name = fields[kind.key ?? ""];
    const isNamed = isBlank(fields["id"]) && typeof name === "string" && !isBlank(name);
    const app = isNamed
      ? await findIdentified(kind, name, fields, call)
      : await readChosen(kind, fields["id"], call);
    if (app) chosen.push(app);
    if (!isNamed && app === null) missing.push(kind);
    if (!isNamed) continue;
    if (app) settled[kind.name] = { id: app["id"] };
    else if (app === null && !canRegister(kind, fields)) {
      throw await refuseUnregistered(kind, name, call);
    } else if (bringsNewApp(fields)) registered.push({ kind, fields });
  }
  return { input: settled, registered, chosen, missing };
}

export type SettledApps = {
  readonly input: JsonObject;
  /** Apps that would be registered on the fly. */
  readonly registered: readonly NewApp[];
  /** Apps that are registered, as they are now. */
  readonly chosen: readonly JsonObject[];
  /** Kinds whose app is chosen by an id that no app has. */
  readonly missing: readonly ResourceKind[];
};

const kinds = [findKind(iosApps.show), findKind(androidApps.show)];

/** An app that is chosen by its id may be named in every other way as well. */
async function settleId(kind: ResourceKind, fields: JsonObject, call: Asking): Promise<JsonObject> {
  const { id } = fields;
  const isNamed = typeof id === "string" && !isBlank(id) && !uuidPattern.test(id);
  return isNamed ? { ...fields, id: await findTarget(kind, id, call) } : fields;
}

/** A person knows an app by its name, so that it may stand where the bundle id is asked for. */
async function findIdentified(
  kind: ResourceKind,
  text: string,
  fields: JsonObject,
  call: Asking,
): Promise<Reading> {
  const identified = await findRecord(kind, text, call);
  if (identified !== null || bringsNewApp(fields)) return identified;
  const { rows } = await findByName(kind, text, call);
  if (rows.length > 1) throw refuseSeveral(kind, text, rows);
  return rows[0] ?? null;
}

/** Whether all is given that a registration needs; whether it is right is the API's to say. */
function canRegister({ name }: ResourceKind, fields: JsonObject): boolean {
  const { needed = [] } = findRegistration(name);
  return needed.every((field) => {
    const value = fields[field];
    return !isBlank(Array.isArray(value) ? value.join("") : value);
  });
}

/** Null where no app has the id. */
async function readChosen(
  kind: ResourceKind,
  id: unknown,
  call: Pick<Call, "ask">,
): Promise<Reading> {
  return typeof id === "string" && !isBlank(id) ? readRecord(kind, id, call) : undefined;
}
