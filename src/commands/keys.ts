import { createClientKey, createKey, revokeClientKey, revokeKey } from "../admin/keys.ts";
import type { Operator } from "../admin/operator.ts";
import { readTimeZone } from "../app/process/time-zone.ts";
import { requireProject, withOperator } from "../app/process/with-operator.ts";
import { UsageFault } from "../config.ts";
import { roles, scopes } from "../contract/rights.ts";
import { listClientKeys, listKeys } from "../store/keys.ts";
import { describeKeyAccess } from "../text/secrets.ts";
import {
  projectHelp,
  readChoice,
  readList,
  type Command,
  type Invocation,
} from "./terminal/command.ts";
import {
  createWriteTime,
  presentRecord,
  print,
  printJson,
  printTable,
  say,
} from "./terminal/output.ts";

/** `waypost keys` creates, lists and revokes API keys. */

const keyFlags = {
  "--project NAME": projectHelp,
  "--scopes A,B": "create: the key's scopes (default: all)",
  "--role ROLE":
    "create: viewer, manager or owner (default: owner); a viewer reads links, statistics and " +
    "apps, and changes nothing",
  "--master": "create: a master key, which manages projects and nothing else",
  "--client":
    "create: a client key for the SDK in an app; it can only look up the link that opened or " +
    "installed the app, and is not a secret",
  "--json":
    "print `{id, token, scopes, role, project_id}`; with `--client`, `{id, token, project_id}`",
};

export const keys: Command<typeof keyFlags> = {
  usages: {
    "keys create": ["create an API key; it is shown once", create],
    "keys list": ["list the keys, without their tokens", list],
    "keys revoke ID": ["revoke a key", revoke],
  },
  flags: keyFlags,
};

type KeyInvocation = Invocation<typeof keyFlags>;

async function create({ config, flags }: KeyInvocation): Promise<void> {
  const { client = false, master = false, json = false, project } = flags;
  const role = readChoice("--role", flags.role ?? "owner", roles);
  const listed = readList(flags.scopes ?? "");
  // In the database, an empty list means full access. An empty `--scopes`, for example from an
  // unset shell variable, must not grant full access.
  if (flags.scopes !== undefined && listed.length === 0) {
    throw new UsageFault("--scopes is empty; list scopes, or omit --scopes to allow all");
  }
  const granted = listed.map((name) => readChoice("--scopes", name, scopes));
  const isLimited = flags.scopes !== undefined || flags.role !== undefined;
  if (client && (isLimited || master)) throw refuseLimits("client", "--scopes, --role or --master");
  if (master && (isLimited || project !== undefined)) {
    throw refuseLimits("master", "--project, --scopes or --role");
  }
  const make = async (operator: Operator) => {
    if (master) return createKey(operator, { role, scopes: granted, project_id: null });
    const { id: project_id } = await requireProject(operator.store.db, project);
    return client
      ? createClientKey(operator, { project_id })
      : createKey(operator, { role, scopes: granted, project_id });
  };
  const key = await withOperator(config, make, { mayCreate: true });
  if (json) return printJson(key);
  print(key.token);
  const reach = master ? "master key" : describeKeyAccess(role, granted);
  const made = client ? `client key ${key.id} for the SDK in an app` : `key ${key.id} (${reach})`;
  // A client key is not a secret, but Waypost stores only its hash and cannot show it again.
  say(`Created ${made}. Copy it now: it will not be shown again.`);
}

function refuseLimits(kind: string, flags: string): UsageFault {
  return new UsageFault(`use --${kind} without ${flags}: a ${kind} key has none of them`);
}

async function list({ config, flags: { project: name, json } }: KeyInvocation): Promise<void> {
  const [listed, clientKeys] = await withOperator(config, async ({ store: { db } }) => {
    const project = name === undefined ? undefined : await requireProject(db, name);
    return Promise.all([listKeys(db, project?.id), listClientKeys(db, project?.id)]);
  });
  if (json === true) {
    const client_keys = clientKeys.map(presentRecord);
    return printJson({ keys: listed.map(presentRecord), client_keys });
  }
  const writeTime = createWriteTime(readTimeZone(config));
  printTable(
    ["ID", "PROJECT", "ROLE", "SCOPES", "CREATED", "LAST USED"],
    [
      ...listed.map(({ id, project_id, role, ...key }) => {
        const granted = key.scopes.join(",") || "(all)";
        const times = [writeTime(key.created_at), writeTime(key.last_used_at)];
        return [id, project_id ?? "(master)", role, granted, ...times];
      }),
      ...clientKeys.map(({ id, project_id, created_at }) => {
        return [id, project_id, "(client)", "(an app's SDK)", writeTime(created_at)];
      }),
    ],
  );
}

async function revoke({ config }: KeyInvocation, id: string): Promise<void> {
  await withOperator(config, async (operator) => {
    const { db } = operator.store;
    const key = (await listKeys(db)).find((each) => each.id === id);
    if (key !== undefined) return revokeKey(operator, key);
    const clientKey = (await listClientKeys(db)).find((each) => each.id === id);
    if (clientKey !== undefined) return revokeClientKey(operator, clientKey);
    throw new UsageFault(`the key ${id} does not exist; waypost keys list shows all keys`);
  });
  say(`Key ${id} is revoked.`);
}
