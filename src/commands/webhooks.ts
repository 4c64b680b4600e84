import type { Operator } from "../admin/operator.ts";
import { createWebhook, readEventNames, revokeWebhook, testWebhook } from "../admin/webhooks.ts";
import { clock, setAlarm } from "../app/process/embedded.ts";
import { findStatement } from "../app/listening/ask-listener.ts";
import { readDatabaseUrl } from "../app/data/secrets.ts";
import { readTimeZone } from "../app/process/time-zone.ts";
import { requireProject, withOperator } from "../app/process/with-operator.ts";
import { UsageFault, type Config } from "../config.ts";
import { webhookEvents } from "../contract/webhook-events.ts";
import { dropBrackets, normalizeAddress } from "../network/ip-address.ts";
import { listWebhooks, sendAgain, type Webhook } from "../store/webhooks.ts";
import { findFix, findUrlFault } from "../webhooks/send-message.ts";
import { projectHelp, readList, type Command, type Invocation } from "./terminal/command.ts";
import {
  createWriteTime,
  presentRecord,
  print,
  printJson,
  printTable,
  say,
} from "./terminal/output.ts";

/** `waypost webhooks` manages webhooks, and sends failed events again. */

const webhookFlags = {
  "--project NAME": projectHelp,
  "--url URL": "create: an https address, or http in a network listed in `--webhook-private`",
  "--events A,B": `create: ${webhookEvents.join(", ")} (default: all)`,
  "--json":
    "print `{id, project_id, url, events, secret}`, `{webhooks}`, `{revoked}`, `{test}` or " +
    "`{resent}`",
};

export const webhooks: Command<typeof webhookFlags> = {
  usages: {
    "webhooks create": ["send events to a web address; the webhook's secret is shown once", create],
    "webhooks list": ["list the webhooks, their last delivery and their failed events", list],
    "webhooks test ID": ["send a test message", test],
    "webhooks resend ID": ["send failed events again", resend],
    "webhooks revoke ID": ["revoke a webhook", revoke],
  },
  flags: webhookFlags,
  notes:
    "`webhooks test` uses the `--webhook-private` of this command. `waypost serve` sends all " +
    "other messages, with its own settings.",
};

type WebhookInvocation = Invocation<typeof webhookFlags>;

async function create({ config, flags }: WebhookInvocation): Promise<void> {
  const { url, project, json } = flags;
  if (url === undefined) throw new UsageFault("webhooks create needs --url");
  const fault = findUrlFault(url, config.webhook_private);
  if (fault !== undefined) throw new UsageFault(`--url ${fault}`);
  const events =
    flags.events === undefined ? webhookEvents : readEventNames(readList(flags.events));
  if (events === undefined || events.length === 0) {
    throw new UsageFault(`--events takes ${webhookEvents.join(", ")}`);
  }
  const webhook = await withOperator(config, async (operator) => {
    const { id: project_id } = await requireProject(operator.store.db, project);
    return createWebhook(operator, { project_id, url, events });
  });
  if (json === true) printJson(webhook);
  else {
    print(webhook.secret);
    say(
      `Created webhook ${webhook.id} (${events.join(", ")}). Its messages are signed with this ` +
        "secret. Copy it now: it will not be shown again.",
    );
  }
  sayWhereHttpIsSent(url);
  await sayWhoDelivers(config);
}

/**
 * Warns about plain HTTP. The host name is not checked now, because it may resolve to another IP
 * address at each delivery.
 */
function sayWhereHttpIsSent(url: string): void {
  const { protocol, hostname } = new URL(url);
  if (protocol !== "http:" || normalizeAddress(dropBrackets(hostname))) return;
  say(
    `Plain http works only while ${hostname} is in a network listed in WAYPOST_WEBHOOK_PRIVATE. ` +
      "Try it with waypost webhooks test ID.",
  );
}

/** Warns if no `serve` process is found, because only `serve` delivers webhook events. */
async function sayWhoDelivers(config: Config): Promise<void> {
  if ((await findStatement(config))?.kind === "serve") return;
  const place = readDatabaseUrl(config) === undefined ? "." : ", here or on another machine.";
  say("waypost serve is not running here. Events are kept until waypost serve runs" + place);
}

async function list({ config, flags }: WebhookInvocation): Promise<void> {
  const listed = await withOperator(config, ({ store }) => findWebhooks(store, flags.project));
  if (listed.some(({ waiting }) => waiting > 0)) await sayWhoDelivers(config);
  for (const fault of new Set(listed.map(({ last_fault }) => last_fault))) {
    const next = findFix(fault);
    if (next !== undefined) say(`${fault}: ${next}.`);
  }
  if (flags.json === true) return printJson({ webhooks: listed.map(presentRecord) });
  const writeTime = createWriteTime(readTimeZone(config));
  const heads = ["ID", "PROJECT", "URL", "EVENTS", "LAST ATTEMPT", "OUTCOME"];
  const rows = listed.map(({ id, project_id, url, events, last_at, last_fault, ...webhook }) => {
    const names = events.length === webhookEvents.length ? "(all)" : events.join(",");
    const outcome = last_fault ?? (last_at === null ? "" : "delivered");
    const counts = [webhook.waiting, webhook.dead, webhook.dropped].map(String);
    return [id, project_id, url, names, writeTime(last_at), outcome, ...counts];
  });
  printTable([...heads, "WAITING", "FAILED", "DROPPED"], rows);
}

async function findWebhooks({ db }: Operator["store"], project: string | undefined) {
  if (project === undefined) return listWebhooks(db);
  return listWebhooks(db, { project_id: (await requireProject(db, project)).id });
}

/** If the flags name a project, the webhook must belong to it. */
function withWebhook<Result>(
  { config, flags }: WebhookInvocation,
  id: string,
  work: (operator: Operator, webhook: Webhook) => Promise<Result>,
): Promise<Result> {
  const { project } = flags;
  return withOperator(config, async (operator) => {
    const listed = await findWebhooks(operator.store, project);
    const webhook = listed.find((each) => each.id === id);
    if (webhook !== undefined) return work(operator, webhook);
    const where = project === undefined ? "does not exist" : `is not in the project ${project}`;
    throw new UsageFault(`the webhook ${id} ${where}; waypost webhooks list shows all webhooks`);
  });
}

async function revoke(invocation: WebhookInvocation, id: string): Promise<void> {
  await withWebhook(invocation, id, revokeWebhook);
  if (invocation.flags.json === true) printJson({ revoked: id });
  else say(`Webhook ${id} is revoked. Its unsent events are dropped.`);
}

async function test(invocation: WebhookInvocation, id: string): Promise<boolean> {
  const networks = invocation.config.webhook_private;
  const tested = await withWebhook(invocation, id, ({ store }, webhook) =>
    testWebhook(store.db, webhook, { networks, setAlarm, clock }),
  );
  const { delivered, fault, next } = tested;
  if (invocation.flags.json === true) printJson({ test: tested });
  else if (delivered) say("The receiver accepted the test message.");
  else say(`The test message was not delivered: ${fault}${next === undefined ? "" : `. ${next}`}.`);
  return delivered;
}

async function resend(invocation: WebhookInvocation, id: string): Promise<void> {
  const count = await withWebhook(invocation, id, ({ store }, webhook) =>
    store.write((db) => sendAgain(db, webhook, undefined, clock.now())),
  );
  if (invocation.flags.json === true) printJson({ resent: count });
  else if (count === 0) say("This webhook has no failed events.");
  else say(`waypost serve will send ${count === 1 ? "1 event" : `${count} events`} again.`);
  if (count > 0) await sayWhoDelivers(invocation.config);
}
