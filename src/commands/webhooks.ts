import type { Operator } from "../admin/operator.ts";
import { createWebhook, readEventNames, revokeWebhook, testWebhook } from "../admin/webhooks.ts";
import { clock, setAlarm, withKnownEmbedded } from "../app/process/embedded.ts";
import { requireProject } from "../app/process/find-project.ts";
import { findStatement } from "../app/listening/ask-listener.ts";
import { readDatabaseUrl } from "../app/data/secrets.ts";
import { readTimeZone } from "../app/process/time-zone.ts";
import { withOperator } from "../app/process/with-operator.ts";
import { UsageFault, type Config } from "../config.ts";
import { writeLocalTime } from "../contract/local-time.ts";
import { webhookEvents, type WebhookEvent } from "../contract/webhook-events.ts";
import { dropBrackets, normalizeAddress } from "../network/ip-address.ts";
import { listWebhooks, sendAgain, type Webhook } from "../store/webhooks.ts";
import type { Store } from "../store/store.ts";
import { findFix, findUrlFault } from "../webhooks/reach.ts";
import type { FlagsOf } from "./terminal/command-list.ts";
import type { FlagValues } from "./terminal/flags.ts";
import { formatTable, print, printJson, say } from "./terminal/output.ts";

type WebhookFlags = FlagValues<FlagsOf<"webhooks">>;

/** `waypost webhooks create|list|revoke|test|resend`. False where a test was not taken. */
export async function runWebhooks(
  config: Config,
  [subcommand, id, ...rest]: readonly string[],
  flags: WebhookFlags,
): Promise<boolean | void> {
  if (subcommand === "create" && id === undefined) return create(config, flags);
  if ((flags.url ?? flags.events) !== undefined) {
    throw new UsageFault(
      "only webhooks create takes --url and --events; revoke the webhook and create another",
    );
  }
  if (subcommand === "list" && id === undefined) return list(config, flags);
  const act = acts[subcommand ?? ""];
  if (act === undefined || id === undefined || rest.length > 0) {
    throw new UsageFault(
      "use webhooks create, list, or revoke, test or resend with an ID (see waypost --help)",
    );
  }
  return withOperator(config, async (operator) => {
    const webhook = await findNamed(operator.store, id, flags.project);
    return act({ config, operator, webhook, isJson: flags.json === true });
  });
}

async function create(config: Config, flags: WebhookFlags): Promise<void> {
  const { url } = flags;
  if (url === undefined) throw new UsageFault("webhooks create needs --url");
  const fault = findUrlFault(url, config.webhook_private);
  if (fault !== undefined) throw new UsageFault(`--url ${fault}`);
  const events = readEvents(flags.events);
  const made = await withOperator(config, async (operator) => {
    const { id: project_id } = await requireProject(operator.store.db, flags.project);
    return createWebhook(operator, { project_id, url, events });
  });
  if (flags.json === true) printJson(made);
  else {
    print(made.secret);
    say(
      `Created webhook ${made.id} (${made.events.join(", ")}). Its messages are signed with ` +
        "this secret. Copy it now: it will not be shown again.",
    );
  }
  sayWhereHttpIsSent(url);
  await sayWhoDelivers(config);
}

/** Where a name leads is looked up at each attempt, and not before. */
function sayWhereHttpIsSent(url: string): void {
  const { protocol, hostname } = new URL(url);
  if (protocol !== "http:" || normalizeAddress(dropBrackets(hostname))) return;
  say(
    `Plain http works only while ${hostname} is in a network listed in WAYPOST_WEBHOOK_PRIVATE. ` +
      "Try it with waypost webhooks test ID.",
  );
}

/** Over stdio links open and pages are shown, and nothing is delivered. */
async function sayWhoDelivers(config: Config): Promise<void> {
  if ((await findStatement(config))?.kind === "serve") return;
  const place = readDatabaseUrl(config) === undefined ? "." : ", here or on another machine.";
  say("waypost serve is not running here. Events are kept until waypost serve runs" + place);
}

function readEvents(text: string | undefined): readonly WebhookEvent[] {
  if (text === undefined) return webhookEvents;
  const names = text.split(",").flatMap((name) => name.trim() || []);
  const events = readEventNames(names);
  if (events !== undefined && events.length > 0) return events;
  throw new UsageFault(`--events takes ${webhookEvents.join(", ")}`);
}

async function list(config: Config, flags: WebhookFlags): Promise<void> {
  const webhooks = await withKnownEmbedded(config, async ({ db }) => {
    const { project } = flags;
    return listWebhooks(db, {
      project_id: project && (await requireProject(db, project)).id,
    });
  });
  if (webhooks.some(({ waiting }) => waiting > 0)) await sayWhoDelivers(config);
  sayMends(webhooks);
  if (flags.json === true) return printJson({ webhooks: webhooks.map(present) });
  const zone = readTimeZone(config);
  const rows = webhooks.map((webhook) => [
    webhook.id,
    webhook.project_id,
    webhook.url,
    webhook.events.length === webhookEvents.length ? "(all)" : webhook.events.join(","),
    webhook.last_at === null ? "(never)" : writeLocalTime(webhook.last_at, zone),
    webhook.last_fault ?? (webhook.last_at === null ? "" : "delivered"),
    String(webhook.waiting),
    String(webhook.dead),
    String(webhook.dropped),
  ]);
  const heads = ["ID", "PROJECT", "URL", "EVENTS", "LAST ATTEMPT", "OUTCOME", "WAITING", "FAILED"];
  print(formatTable([[...heads, "DROPPED"], ...rows]));
}

/** Once of all that have the same fault. */
function sayMends(webhooks: readonly Webhook[]): void {
  for (const fault of new Set(webhooks.map(({ last_fault }) => last_fault))) {
    const next = findFix(fault);
    if (next !== undefined) say(`${fault}: ${next}.`);
  }
}

type Acting = {
  readonly config: Config;
  readonly operator: Operator;
  readonly webhook: Webhook;
  readonly isJson: boolean;
};

const acts: Readonly<Record<string, (acting: Acting) => Promise<boolean | void>>> = {
  revoke,
  test,
  resend,
};

/** Where a project is named, another one's is none. */
async function findNamed({ db }: Store, id: string, project?: string): Promise<Webhook> {
  const project_id = project && (await requireProject(db, project)).id;
  const [webhook] = await listWebhooks(db, { project_id, id });
  if (webhook === undefined) throw noSuchWebhook(id, project);
  return webhook;
}

async function revoke({ operator, webhook, isJson }: Acting): Promise<void> {
  const { id } = webhook;
  await revokeWebhook(operator, webhook);
  if (isJson) printJson({ revoked: id });
  else say(`Webhook ${id} is revoked. Its unsent events are dropped.`);
}

async function test({ config, operator, webhook, isJson }: Acting): Promise<boolean> {
  const sending = { networks: config.webhook_private, setAlarm, clock };
  const tested = await testWebhook(operator.store.db, webhook, sending);
  const { delivered, fault, next } = tested;
  if (isJson) printJson({ test: tested });
  else if (delivered) say("The receiver accepted the test message.");
  else say(`The test message was not delivered: ${fault}${next === undefined ? "" : `. ${next}`}.`);
  return delivered;
}

async function resend({ config, operator, webhook, isJson }: Acting): Promise<void> {
  const count = await operator.store.write((db) => sendAgain(db, webhook, undefined, clock.now()));
  if (isJson) printJson({ resent: count });
  else if (count === 0) say("This webhook has no failed events.");
  else say(`waypost serve will send ${count === 1 ? "1 event" : `${count} events`} again.`);
  if (count > 0) await sayWhoDelivers(config);
}

function noSuchWebhook(id: string, project?: string): UsageFault {
  const where = project === undefined ? "does not exist" : `is not in the project ${project}`;
  return new UsageFault(`the webhook ${id} ${where}; waypost webhooks list shows all webhooks`);
}

function present({ created_at, failing_since, last_at, ...webhook }: Webhook) {
  const times = { created_at, failing_since, last_at };
  const told = Object.entries(times).map(([name, time]) => {
    return [name, time === null ? null : new Date(time).toISOString()] as const;
  });
  return { ...webhook, ...Object.fromEntries(told) };
}
