import { binEndpoints, findDeleted, listDeleted } from "../../admin/bin.ts";
import {
  createClientKey,
  createKey,
  refuseMissingKey,
  revokeClientKey,
  revokeKey,
} from "../../admin/keys.ts";
import { journal, type Operator } from "../../admin/operator.ts";
import { readProjectSettings, updateProject } from "../../admin/projects.ts";
import {
  createWebhook,
  readEventNames,
  revokeWebhook,
  testWebhook,
  webhookNotFound,
  type ListedWebhook,
} from "../../admin/webhooks.ts";
import type {
  Administration,
  ChangeResult,
  KeyList,
  RestoredItems,
} from "../../console/account.ts";
import { findRefusal } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import { paging } from "../../contract/limits.ts";
import { messages } from "../../contract/messages.ts";
import {
  makeFieldProblem,
  notFound,
  unauthorized,
  validationFailed,
} from "../../contract/problem.ts";
import { canMakeKeys } from "../../contract/rights.ts";
import { isBlank } from "../../contract/text.ts";
import { noPerson } from "../../mcp/approval/require-approval.ts";
import { hashToken } from "../../service/keys.ts";
import { toProblem } from "../../service/pipeline.ts";
import { checkPages } from "../../service/write-project.ts";
import { findKey, findKeyById, listClientKeys, listKeys } from "../../store/keys.ts";
import { findProject, type StoredProject } from "../../store/projects.ts";
import { listDead, listWebhooks, sendAgain, type Webhook } from "../../store/webhooks.ts";
import type { BinKind, Db, Tenant } from "../../store/tables.ts";
import { findFix, findUrlFault } from "../../webhooks/send-message.ts";
import { listLinkOrigins } from "../http/addresses.ts";
import { consoleName, isOperator, mayChange, tryApiKey, type AccountContext } from "./parts.ts";
import { describeSettings } from "./settings.ts";
import { clock, random, setAlarm } from "../process/embedded.ts";

/** Administration in the console, limited to the permissions of the signed-in key. */

/**
 * Webhooks have no permission of their own. A key that can create keys can also manage webhooks.
 */
const rights = {
  list_keys: managesKeys,
  change_keys: (context: AccountContext) => managesKeys(context) && mayChange(context),
  get_project_settings: isMaster,
  update_project_settings: (context: AccountContext) =>
    isMaster(context) && mayChange(context) && context.keyContext.mayAsk(contract.projects.update),
  list_bin: (context: AccountContext) => listVisibleKinds(context).length > 0,
  restore_deleted: (context: AccountContext) =>
    listVisibleKinds(context).some((kind) => mayRestore(kind, context)),
  read_settings: isOperator,
} as const satisfies Readonly<Record<string, (context: AccountContext) => boolean>>;

type Right = keyof typeof rights;

export function listRights(context: AccountContext): readonly string[] {
  const all = Object.entries(rights);
  return all.flatMap(([name, isGranted]) => (isGranted(context) ? [name] : []));
}

export function createAdministration(
  context: AccountContext,
  answer: <Result>(work: () => Promise<Result>) => Promise<ChangeResult<Result>>,
): Administration {
  const allow = createGate(context, answer);
  return {
    ...administerKeys(context, allow),
    ...administerWebhooks(context, allow),
    readProjectSettings: allow("get_project_settings", ({ operator }, id) =>
      requireProject(operator, id),
    ),
    updateProjectSettings: allow("update_project_settings", async ({ operator }, id, typed) => {
      const project = await requireProject(operator, id);
      const { settings, faults } = readProjectSettings(typed);
      const problems = faults.map(({ field, fault }) => makeFieldProblem(field, fault));
      if (settings.custom_domain_verified === true && isBlank(project.custom_domain)) {
        problems.push(makeFieldProblem("custom_domain_verified", "needs a custom domain first"));
      }
      const linkOrigins = listLinkOrigins(context.config);
      problems.push(...checkPages(settings, { ...project, ...settings }, linkOrigins));
      if (problems.length > 0) throw validationFailed(problems);
      await updateProject(operator, project, { settings, linkOrigins });
    }),
    listDeleted: allow("list_bin", async ({ tenant }, { kind, ...search }) => {
      const kinds = listVisibleKinds(context).filter((each) => kind === undefined || each === kind);
      const counting = { limit: perPage, mostCounted: paging.most_counted };
      const { items, meta } = await listDeleted(tenant, clock.now(), {
        ...search,
        ...counting,
        kinds,
      });
      const restorable = items.map((item) => {
        return { ...item, canRestore: mayRestore(item.kind, context) };
      });
      return { items: restorable, meta };
    }),
    restoreDeleted: allow("restore_deleted", (own, items) => restoreAll(own, items, context)),
    readSettings: () => answer(() => describeSettings(context)),
  };
}

type Gate = ReturnType<typeof createGate>;

/**
 * Returns a function that wraps an action in a permission check. Without the permission, the error
 * is the same as on a server that does not support the action.
 */
function createGate(context: AccountContext, answer: Parameters<typeof createAdministration>[1]) {
  return <Args extends readonly unknown[], Result>(
    right: Right,
    work: (own: OwnServer, ...args: Args) => Promise<Result>,
  ) => {
    return (...args: Args) =>
      answer(() => {
        if (!rights[right](context)) throw notFound("This server does not support that.");
        return work(actAsOwn(context), ...args);
      });
  };
}

type KeyActs = "listKeys" | "createKey" | "createClientKey" | "revokeKey" | "revokeClientKey";

function administerKeys(context: AccountContext, allow: Gate): Pick<Administration, KeyActs> {
  return {
    listKeys: allow("list_keys", listAllKeys),
    createKey: allow("change_keys", (own, request) =>
      createKey(own.operator, { ...request, project_id: readProject(context) }),
    ),
    createClientKey: allow("change_keys", (own, once) =>
      createClientKey(own.operator, { once, project_id: readProject(context) }),
    ),
    revokeKey: allow("change_keys", async ({ operator }, id) => {
      const keys = await listKeys(operator.store.db, readProject(context));
      await revokeKey(operator, require(keys, id, refuseMissingKey));
      return { isOwn: id === context.keyContext.known.keyId };
    }),
    revokeClientKey: allow("change_keys", async ({ operator }, id) => {
      const keys = await listClientKeys(operator.store.db, readProject(context));
      await revokeClientKey(operator, require(keys, id, refuseMissingKey));
    }),
  };
}

type WebhookActs =
  | "listWebhooks"
  | "showWebhook"
  | "createWebhook"
  | "revokeWebhook"
  | "testWebhook"
  | "resendEvents";

function administerWebhooks(
  context: AccountContext,
  allow: Gate,
): Pick<Administration, WebhookActs> {
  return {
    listWebhooks: allow("list_keys", async ({ operator }) => {
      const project_id = readProject(context);
      const webhooks = await listWebhooks(operator.store.db, { project_id });
      // Only a process that serves MCP over HTTP delivers webhook events.
      return { delivers: context.addresses.mcp !== undefined, webhooks: webhooks.map(addFix) };
    }),
    showWebhook: allow("list_keys", async ({ operator: { store } }, id) => {
      const webhook = await requireWebhook(context, store.db, id);
      return { webhook, dead: await listDead(store.db, webhook, mostDead) };
    }),
    createWebhook: allow("change_keys", ({ operator }, request) => {
      const fault = findUrlFault(request.url, context.config.webhook_private);
      const events = readEventNames(request.events) ?? [];
      const problems = [
        ...(fault === undefined ? [] : [makeFieldProblem("url", fault)]),
        ...(events.length > 0
          ? []
          : [makeFieldProblem("events", "can't be blank: choose at least one")]),
      ];
      if (problems.length > 0) throw validationFailed(problems);
      return createWebhook(operator, { ...request, events, project_id: readProject(context) });
    }),
    revokeWebhook: allow("change_keys", async ({ operator }, id) =>
      revokeWebhook(operator, await requireWebhook(context, operator.store.db, id)),
    ),
    testWebhook: allow("change_keys", async ({ operator: { store } }, id) => {
      const sending = { networks: context.config.webhook_private, setAlarm, clock };
      return testWebhook(store.db, await requireWebhook(context, store.db, id), sending);
    }),
    resendEvents: allow("change_keys", async ({ operator: { store } }, id, event_id) => {
      const webhook = await requireWebhook(context, store.db, id);
      return store.write((db) => sendAgain(db, webhook, event_id || undefined, clock.now()));
    }),
  };
}

/** The maximum number of failed events that a webhook's page lists. */
const mostDead = 100;
const perPage = 25;

type OwnServer = { readonly operator: Operator; readonly tenant: Tenant };

function actAsOwn(context: AccountContext): OwnServer {
  const { deployment, keyContext, report, requireApproval, readPin } = context;
  const { own, state } = deployment;
  if (own === undefined) throw new Error("this server has no database of its own");
  const { store } = own;
  const { known, timeZone, key_print } = keyContext;
  const asked = { ...noPerson, client: consoleName };
  const operator: Operator = {
    store,
    clock,
    random,
    origin: deployment.origin,
    openHistory: async () => (await state.open()).history,
    report,
    key_print,
    client: consoleName,
    person: {
      key_id: known.keyId,
      findKeptKey: () => findKeptKey(context, store),
      timeZone,
      hasPin: async () => (await readPin()) !== undefined,
      requireApproved: ({ preview: question, ...request }) =>
        requireApproval({ ...request, question }, keyContext, asked),
      recheck: async (db) => {
        const holder = await findKeyById(db, known.keyId ?? "");
        if (holder?.project?.suspended !== false || !canMakeKeys(holder)) {
          throw unauthorized(messages.key_invalid);
        }
      },
    },
  };
  return { operator, tenant: { db: store.db, projectId: known.projectId ?? "" } };
}

function managesKeys({ config, deployment, keyContext }: AccountContext): boolean {
  const { facts } = keyContext.known;
  if (deployment.own === undefined || facts === undefined || facts.suspended) return false;
  // If WAYPOST_SCOPES limits what keys may do, the console cannot create keys.
  if (config.scopes !== undefined || facts.kind !== "project") return false;
  return canMakeKeys(facts);
}

function isMaster({ deployment, keyContext }: AccountContext): boolean {
  const { facts } = keyContext.known;
  if (deployment.own === undefined || facts === undefined) return false;
  return findRefusal(contract.projects.show, facts) === undefined;
}

function readProject({ keyContext: { known } }: AccountContext): string {
  if (known.projectId === undefined) throw unauthorized(messages.project_key_required);
  return known.projectId;
}

function require<Item extends { readonly id: string }>(
  items: readonly Item[],
  id: string,
  missing: () => Error,
): Item {
  const found = items.find((each) => each.id === id);
  if (found === undefined) throw missing();
  return found;
}

async function requireProject({ store }: Operator, id: string): Promise<StoredProject> {
  const project = await findProject(store.db, id);
  if (project === undefined) throw notFound(messages.project_not_found);
  return project;
}

/**
 * Returns the ID of the key that commands on this machine use, or undefined if no known key is set.
 */
async function findKeptKey(
  context: AccountContext,
  { db }: Operator["store"],
): Promise<string | undefined> {
  const token = tryApiKey(context);
  return token === undefined ? undefined : (await findKey(db, hashToken(token)))?.key_id;
}

async function listAllKeys({ operator: { store, person }, tenant }: OwnServer): Promise<KeyList> {
  const [keys, client_keys, kept] = await Promise.all([
    listKeys(store.db, tenant.projectId),
    listClientKeys(store.db, tenant.projectId),
    person?.findKeptKey(),
  ]);
  const listed = keys.map((key) => {
    return { ...key, is_own: key.id === person?.key_id, is_kept: key.id === kept };
  });
  return { keys: listed, client_keys };
}

/** Throws "not found" if the webhook does not exist or belongs to another project. */
async function requireWebhook(context: AccountContext, db: Db, id: string): Promise<ListedWebhook> {
  const [webhook] = await listWebhooks(db, { project_id: readProject(context), id });
  if (webhook === undefined) throw webhookNotFound();
  return addFix(webhook);
}

function addFix(webhook: Webhook): ListedWebhook {
  return { ...webhook, fix: findFix(webhook.last_fault) };
}

const binKinds = Object.keys(binEndpoints) as readonly BinKind[];

/**
 * Lists the kinds of deleted records that the key may see. The key needs the right to list
 * existing records of that kind.
 */
function listVisibleKinds({ deployment, keyContext }: AccountContext): readonly BinKind[] {
  if (deployment.own === undefined || keyContext.known.projectId === undefined) return [];
  return binKinds.filter((kind) => keyContext.mayAsk(binEndpoints[kind].index));
}

function mayRestore(kind: BinKind, context: AccountContext): boolean {
  const { access, isActAllowed } = context.keyContext;
  const { create, restore } = binEndpoints[kind];
  return mayChange(context) && isActAllowed(create) && access.read(restore).state === "granted";
}

/** The maximum number of items to restore at once; a page of the list holds fewer. */
const mostAtOnce = 100;

/** Continues with the other items if one cannot be restored. */
async function restoreAll(
  own: OwnServer,
  items: readonly string[],
  context: AccountContext,
): Promise<RestoredItems> {
  const failed: RestoredItems["failed"][number][] = [];
  const restored = items.slice(0, mostAtOnce);
  for (const item of restored) {
    const failure = await restoreOne(own, item, context);
    if (failure !== undefined) failed.push(failure);
  }
  return { restored: restored.length - failed.length, failed };
}

/** Returns an error message, or undefined if the item was restored. */
async function restoreOne({ operator, tenant }: OwnServer, item: string, context: AccountContext) {
  const [, given, id = ""] = /^(\w+):([^]+)$/.exec(item) ?? [];
  const kind = listVisibleKinds(context).find((each) => each === given);
  if (kind === undefined || !mayRestore(kind, context)) return notInBin;
  const deleted = await findDeleted(tenant, kind, id, clock.now());
  if (deleted === undefined) return notInBin;
  const { row, name } = deleted;
  const { keyContext } = context;
  try {
    // The operator may have removed hosts from the allowed list since the deletion.
    const problems = kind === "link" ? keyContext.checkDestinations(row, {}) : [];
    if (problems.length > 0) throw validationFailed(problems);
    const { restore } = binEndpoints[kind];
    await journal(
      operator,
      { tool: restore.tool, realm: keyContext.realm, kind, id, name, isRestore: true },
      () => keyContext.call<Endpoint>(restore, { id }),
      // Each restore endpoint returns the restored record.
      (after) => ({ id, name, before: null, after: after as unknown as JsonObject }),
    );
    return undefined;
  } catch (error) {
    return { name, message: toProblem(error, context.report).message };
  }
}

const notInBin = { name: "", message: "It is no longer in the bin." };
