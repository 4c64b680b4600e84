import { estimateSeconds } from "../../../bulk/apply/job-runner.ts";
import { countClicks, describeRow, findCountToType } from "../../../bulk/present.ts";
import { findRegistration } from "../../../contract/apps.ts";
import { uuidPattern } from "../../../contract/fields.ts";
import { limits } from "../../../contract/limits.ts";
import { findKind } from "../../../contract/resource-kind.ts";
import type { Job } from "../../../state/jobs.ts";
import type { Plan, PlanRow, PlanRule } from "../../../state/plans.ts";
import { showAddress } from "../../../text/show-address.ts";
import { quote } from "../../../text/show-hidden.ts";
import { writeLabel, writeWords } from "../../../text/write-label.ts";
import type { Fact, Question } from "../../approval/question.ts";
import { writeApp, writeValue, type AppNames } from "../../approval/question-text.ts";
import { describeAssociation } from "../endpoints/preview-act.ts";
import { writePlanUri } from "./show-plan.ts";
import type { PlanSummary } from "./summarize-plan.ts";

/** Writes the question that a user reads before approving a bulk plan. */

/** The maximum number of hosts, fields and apps to list. */
const mostNamed = 20;
/** The maximum length of the approval page's list of most clicked links. */
const mostClicked = 10;
/** URLs are shown in full, because their end can change the destination. */
const mostShown = limits.web_address_characters;

/**
 * Writes the approval question for a plan. The question is asked in a form only if the form can
 * show every row, host, field and app.
 */
export function previewPlan(
  plan: Plan,
  summary: PlanSummary,
  { job, binDays }: { readonly job: Job | undefined; readonly binDays: number | undefined },
): Question {
  const total = summary.create + summary.update + summary.delete;
  const count = findCountToType(plan, total);
  const names = nameApps(summary);
  const more = total - summary.rows.length;
  const isShared = summary.shared !== undefined && total === summary.update;
  const { rules = [] } = plan.request;
  const named = [summary.hosts, summary.fields, summary.registrations, rules];
  const isComplete = more === 0 && named.every(({ length }) => length <= mostNamed);
  return {
    title: writeTitle(plan, summary, job),
    button: describeActs(summary, { hasSum: false }),
    destroys: summary.delete > 0,
    rows: {
      plan_id: plan.id,
      uri: writePlanUri(plan.id),
      names,
      most_clicked: listMostClicked(summary),
    },
    ...(count !== undefined && { count }),
    ...(!isComplete && { isPartial: true }),
    facts: [
      ...describeScope(plan, summary),
      ...describeLoss(summary, binDays),
      ...describeFields(summary, names),
      ...summary.rows.map((row) => previewRow(row, names, isShared)),
      ...(more > 0 ? [{ name: "and", text: describeMore(more, isShared), isRow: true }] : []),
      ...describeLeftOut(plan),
      { name: "estimated time", text: `${estimateSeconds(plan.counts, total)} s` },
    ],
  };
}

/** Describes where the plan sends visitors, its rules, and the apps that it registers. */
export function describeScope(plan: Plan, summary: PlanSummary): readonly Fact[] {
  return [...describeHosts(summary), ...describeRules(plan), ...describeApps(summary)];
}

/** Writes the title in everyday words, such as "Point 60 links to example.com/new". */
function writeTitle({ undoes, request }: Plan, summary: PlanSummary, job: Job | undefined): string {
  const title = writeMove(request, summary) ?? describeActs(summary);
  if (job !== undefined) {
    const named = job.state === "cancelled" ? "a cancelled job" : "an interrupted job";
    return `Resume ${named}: ${title}`;
  }
  return undoes === null ? title : `Undo a job: ${title}`;
}

/** Returns a title if the plan changes only the destination of links; otherwise undefined. */
function writeMove({ rules = [] }: Plan["request"], summary: PlanSummary): string | undefined {
  const { create, update, fields, shared = {} } = summary;
  if (create + summary.delete > 0) return undefined;
  const { url, ...others } = shared;
  if (typeof url === "string" && url !== "" && Object.keys(others).length === 0) {
    const address = url.replace(/^https?:\/\//i, "");
    return `Point ${countLinks(update)} to ${quote(address, mostShown)}`;
  }
  const host = rules[0]?.to;
  const isMove = rules.every(({ kind, to }) => kind === "host" && to === host);
  const isByRule = fields.every(({ field }) => rules.some((rule) => rule.field === field));
  return host && isMove && isByRule
    ? `Move ${countLinks(update)} to ${quote(host, mostShown)}`
    : undefined;
}

/** Describes the plan's rules. A rule computes a separate value for each link. */
function describeRules({ request }: Plan): readonly Fact[] {
  return (request.rules ?? []).slice(0, mostNamed).map(({ field, kind, from, to }) => ({
    name: `${writeWords(field)}, by rule`,
    text: writeRule(kind, quote(from, mostShown), quote(to, mostShown)),
  }));
}

function writeRule(kind: PlanRule["kind"], from: string, to: string): string {
  if (kind === "prefix") return `starts with ${to}`;
  if (kind === "query") return `query parameter ${from} becomes ${to}`;
  return `${{ host: "host ", start: "beginning ", text: "" }[kind]}${from} → ${to}`;
}

function describeActs(summary: PlanSummary, { hasSum = true } = {}): string {
  const acts = (["create", "update", "delete"] as const).filter((act) => summary[act] > 0);
  const words = { create: "create", update: "change", delete: "delete" };
  const phrases = acts.map((act, index) => {
    const number = summary[act];
    return `${words[act]} ${index === 0 ? countLinks(number) : number}`;
  });
  const total = acts.reduce((sum, act) => sum + summary[act], 0);
  const text = phrases.join(", ") || "change nothing";
  const sum = hasSum && acts.length > 1 ? ` (${total} in all)` : "";
  const apps = summary.registrations.length;
  const brought = apps === 0 ? "" : `, and register ${apps === 1 ? "1 app" : `${apps} apps`}`;
  return text.charAt(0).toUpperCase() + text.slice(1) + sum + brought;
}

function countLinks(count: number): string {
  return count === 1 ? "1 link" : `${count} links`;
}

function describeHosts({ hosts }: PlanSummary): readonly Fact[] {
  const named = hosts.slice(0, mostNamed).map(describeHost);
  const others = hosts.slice(mostNamed);
  const left = others.reduce((sum, { links }) => sum + links, 0);
  if (left === 0) return named;
  const text = `${countLinks(left)} to ${others.length} hosts`;
  return [...named, { name: "will redirect to other hosts", text }];
}

function describeHost({ host, links }: PlanSummary["hosts"][number]): Fact {
  const { typed, ascii, warnings } = showAddress(`https://${host}`) ?? {};
  const read = typed?.slice("https://".length) ?? host;
  return {
    name: `will redirect to ${quote(host, mostShown)}`,
    text: countLinks(links),
    ...(ascii !== undefined && { note: `displayed as ${quote(read, mostShown)}`, warnings }),
  };
}

function describeApps({ registrations }: PlanSummary): readonly Fact[] {
  const named = registrations.slice(0, mostNamed).flatMap(({ kind, name, fields }) => {
    const rest = Object.entries(fields).filter(([field]) => fields[field] !== name);
    const texts = rest.map(([field, value]) => `${writeLabel(field)}: ${writeValue(value)}`);
    const app = findKind(findRegistration(kind));
    const fact = { name: `registers the ${app.label} ${quote(name)}`, text: texts.join("; ") };
    return [fact, ...describeAssociation(app, undefined, fields)];
  });
  const more = registrations.length - mostNamed;
  return more > 0 ? [...named, { name: "registers", text: `${more} more apps` }] : named;
}

function describeLoss(
  { delete: count, clicksLost }: PlanSummary,
  binDays: number | undefined,
): readonly Fact[] {
  if (count === 0) return [];
  const text = `${countLinks(count)} with ${countClicks(clicksLost)}`;
  if (binDays === undefined) return [{ name: "deleted permanently", text }];
  return [{ name: `kept in the bin for ${binDays} days`, text }];
}

function nameApps({ apps }: PlanSummary): AppNames {
  const named = [...apps].flatMap(([id, app]) => {
    // An unknown app keeps its bundle ID or package name. Only a UUID is replaced, because it means
    // nothing to the user.
    if (app === undefined && !uuidPattern.test(id)) return [];
    return [[id, writeApp(id, [app?.name, app?.identifier])] as const];
  });
  return Object.fromEntries(named);
}

function describeFields({ fields, update }: PlanSummary, names: AppNames): readonly Fact[] {
  return fields.slice(0, mostNamed).map(({ field, links, to }) => {
    const all = links === update && links > 1 ? `all ${links} links` : countLinks(links);
    const text =
      to === undefined ? "gets different values" : `becomes ${writeValue(to.value, names)}`;
    return { name: field, text: `${text} on ${all}` };
  });
}

function previewRow(row: PlanRow, names: AppNames, isShared: boolean): Fact {
  const { action, before } = row;
  const { target, about, ...described } = describeRow(row);
  const changes = Object.entries(described.changes).map(([field, { from, to }]) => {
    const old = before === null ? "" : `${writeValue(from, names)} → `;
    // If all links change in the same way, other facts already show the new values.
    return isShared
      ? `current ${writeWords(field)}: ${writeValue(from, names)}`
      : `${writeWords(field)}: ${old}${writeValue(to, names)}`;
  });
  const act = action === "update" ? "change" : action;
  const named = `${act} ${quote(target, mostShown)}`;
  return { name: named, text: [...about, ...changes].join("; "), isRow: true };
}

/** Lists the most clicked links, which the approval page shows first. */
function listMostClicked({ rows }: PlanSummary): readonly number[] {
  const clicked = rows.filter(({ before }) => Number(before?.["clicks"] ?? 0) > 0);
  return clicked.slice(0, mostClicked).map(({ position }) => position);
}

function describeMore(more: number, isShared: boolean): string {
  const links = more === 1 ? "1 more link" : `${more} more links`;
  return isShared ? `${links}, changed in the same way` : links;
}

function describeLeftOut({ counts }: Plan): readonly Fact[] {
  const { unchanged, conflict, invalid } = counts;
  return [
    ...(unchanged > 0 ? [{ name: "unchanged", text: String(unchanged) }] : []),
    ...(conflict > 0 ? [{ name: "left out because of conflicts", text: String(conflict) }] : []),
    ...(invalid > 0 ? [{ name: "left out because of errors", text: String(invalid) }] : []),
  ];
}
