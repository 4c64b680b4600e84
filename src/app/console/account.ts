import { homedir } from "node:os";
import { resolve, sep } from "node:path";
import { findEncoding } from "../../bulk/files/csv.ts";
import { isJsonFile, readJsonFile } from "../../bulk/files/json-file.ts";
import { presentReceipt } from "../../bulk/present.ts";
import { listItems } from "../../bulk/rows/read-rows.ts";
import type { KnownKey } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { neverAborted } from "../../contract/waiting.ts";
import { utc, writeLocalTime } from "../../contract/local-time.ts";
import { Problem } from "../../contract/problem.ts";
import type { KeyContext } from "../../mcp/access/key-context.ts";
import type { Mode } from "../../contract/rights.ts";
import { noPerson } from "../../mcp/approval/require-approval.ts";
import { explainEnd, ToolFailure } from "../../mcp/results/tool-failure.ts";
import { callTool } from "../../mcp/tools/call-tool.ts";
import { chooseZone } from "../../mcp/tools/stats.ts";
import type { Tool } from "../../mcp/tools/tool.ts";
import { listVisible } from "../../mcp/tools/toolbox.ts";
import { addScanMark } from "../../contract/rules/address-query.ts";
import { drawPng, drawSvg } from "../../qr/draw-qr.ts";
import { toProblem } from "../../service/pipeline.ts";
import { describeKeyAccess } from "../../text/secrets.ts";
import type {
  Account,
  ChangeResult,
  CallError,
  CallResult,
  LinksFile,
  RowFilter,
} from "../../console/account.ts";
import type { JobRow, RecordKind, Records, ToolResults } from "../../console/records.ts";
import { createAdministration, listRights } from "./admin.ts";
import { consoleName, isOperator, isOwnKey, type AccountContext } from "./parts.ts";
import { readDatabaseUrl } from "../data/secrets.ts";
import { readPlan } from "./plans.ts";
import { approve, listWaiting, readQuestion } from "./questions.ts";
import { clock } from "../process/embedded.ts";

/** What a signed-in user can do: call tools and approve requests. */
export function createAccount(parts: AccountContext): Account {
  const { keyContext, toolbox } = parts;
  const { known } = keyContext;
  const visible = new Set([
    ...listVisible(toolbox, keyContext).map(({ name }) => name),
    ...listRights(parts),
  ]);
  return {
    projectName: known.projectName,
    host: known.linkHost,
    ...describeConsole(parts),
    mayUse: (tool) => visible.has(tool),
    call: (name, args, more) => read(call(name, args, parts, more)),
    tryCall: async (name, args) => {
      if (!visible.has(name)) return undefined;
      const answer = await call<ToolResults[typeof name]>(name, args, parts);
      return answer.kind === "done" ? answer.result : undefined;
    },
    act: (name, args) => call(name, args, parts),
    timeZone: keyContext.timeZone ?? utc,
    readToday: () => writeLocalTime(clock.now(), chooseZone(keyContext) ?? utc).slice(0, 10),
    isOwn: parts.deployment.own !== undefined,
    qr: parts.deployment.own === undefined ? { drawSvg, drawPng } : ownPictures,
    readRecord: (kind, id) => readRecord(kind, id, keyContext),
    findPreview: async (token) => (await keyContext.openPreviews()).find(token),

    approve: (id, typed) => approve(id, typed, parts),
    planFile: (file) => planFile(file, parts),
    readPlan: (id, page) => readPlan(id, page, parts),
    listRows: (jobId, wanted) => listRows(jobId, wanted, keyContext),

    listWaiting: () => listWaiting(parts),
    admin: createAdministration(parts, (work) => carryOut(work, parts)),
  };
}

/**
 * Adds a mark to the URL in each QR code, so that scans are counted separately. Only for the
 * embedded service, because others keep the mark when they redirect.
 */
const ownPictures: Account["qr"] = {
  drawSvg: (address) => drawSvg(addScanMark(address)),
  drawPng: (address) => drawPng(addScanMark(address)),
};

async function carryOut<Result>(
  work: () => Promise<Result>,
  context: AccountContext,
): Promise<ChangeResult<Result>> {
  try {
    return { kind: "done", result: await work() };
  } catch (error) {
    if (error instanceof ToolFailure) return explain(error.failure, context);
    const { status, message, faults } = toProblem(error, context.report);
    return { kind: "failed", failure: { code: String(status), message, problems: faults } };
  }
}

/** Calls the same tool as assistants, so the same rules and size limits apply. */
async function planFile(
  { name, bytes, operation, skipsInvalid }: LinksFile,
  parts: AccountContext,
): Promise<CallResult<ToolResults["plan_links"]>> {
  const file = readLinksFile(name, bytes);
  if ("fault" in file) return fail("invalid_arguments", file.fault);
  const skips = skipsInvalid && { skip_invalid: true };
  return read(call("plan_links", { operation, ...file, ...skips }, parts));
}

type ReadFile =
  | { readonly rows: readonly unknown[] }
  | { readonly csv: string }
  /** The reason why the file cannot be read. */
  | { readonly fault: string };

function readLinksFile(name: string, bytes: Uint8Array): ReadFile {
  if (!isJsonFile(name, bytes.subarray(0, mostBlanks))) return readCsv(bytes);
  const read = readJsonFile(bytes);
  if ("fault" in read) return { fault: `The file ${read.fault}.` };
  const rows = listItems(read.value);
  return rows === undefined ? { fault: "The file contains no list of links." } : { rows };
}

const mostBlanks = 1000;

/**
 * Decodes CSV. Spreadsheet programs may start a file with a byte order mark that names the
 * encoding.
 */
function readCsv(bytes: Uint8Array): ReadFile {
  try {
    return { csv: new TextDecoder(findEncoding(bytes), { fatal: true }).decode(bytes) };
  } catch {
    return { fault: "The file is not UTF-8 text. Save it as UTF-8." };
  }
}

async function listRows(jobId: string, wanted: RowFilter, keyContext: KeyContext) {
  const { bulk } = keyContext;
  const job = await bulk.findJob(jobId, keyContext);
  if (job === undefined) return undefined;
  const rows: readonly unknown[] = (await bulk.listReceipts(job, wanted)).map(presentReceipt);
  return rows as readonly JobRow[];
}

async function call<Result>(
  name: string,
  args: JsonObject,
  parts: AccountContext,
  more: JsonObject = {},
): Promise<ChangeResult<Result>> {
  const { toolbox, keyContext, requireApproval, report, watchCall } = parts;
  const found = toolbox.find(name);
  if (found === undefined) return fail("not_found", "This server does not support that.");
  const tool: Tool = {
    ...found,
    run: (given, inner) => found.run({ ...given, ...more }, inner),
  };
  const result = await callTool(tool, args, {
    keyContext: separatePreviews(keyContext),
    requireApproval,
    // In the console, a user overwrites one record at a time, so overwriting needs no approval.
    approveOverwrite: (_, { carryOut }) => carryOut(),
    person: { ...noPerson, client: consoleName },
    signal: neverAborted,
    // The console shows a job's progress on a page of its own, so the call returns no task.
    answerWithTask: () => undefined,
    reportProgress: () => undefined,
    report,
    watchCall,
  });
  const { structuredContent: content } = result;
  const body = isJsonObject(content) ? content : {};
  // The tools' output schemas guarantee the type, so the cast is safe.
  if (result.isError !== true) return { kind: "done", result: body as Result };
  const { error } = body;
  if (!isFailure(error)) return fail("internal", "Something went wrong inside Waypost.");
  return explain(error, parts);
}

async function read<Result>(calling: Promise<ChangeResult<Result>>): Promise<CallResult<Result>> {
  const answer = await calling;
  return answer.kind === "asks" ? fail("internal", answer.question.title) : answer;
}

/**
 * Stores the console's previews separately. While a user types, the console creates many previews,
 * which would evict those of assistants.
 */
function separatePreviews(keyContext: KeyContext): KeyContext {
  const openPreviews: KeyContext["openPreviews"] = async () => {
    const previews = await keyContext.openPreviews();
    return { ...previews, save: (print, html) => previews.save(`${print} ${consoleName}`, html) };
  };
  return { ...keyContext, openPreviews };
}

async function explain(failure: ToolError, parts: AccountContext): Promise<ChangeResult<never>> {
  // The console's own `openPage` returns the question's ID instead of a URL.
  const questionId = failure.code === "approval_required" ? failure.approval?.url : undefined;
  const question = questionId === undefined ? undefined : await readQuestion(questionId, parts);
  return question === undefined ? { kind: "failed", failure } : { kind: "asks", question };
}

type ToolError = CallError & {
  readonly approval?: { readonly url?: string | undefined } | undefined;
};

function isFailure(error: unknown): error is ToolError {
  return isJsonObject(error) && typeof error["message"] === "string";
}

function fail(code: string, message: string): CallResult<never> {
  return { kind: "failed", failure: { code, message } };
}

const shows: Readonly<Record<RecordKind, Endpoint>> = {
  link: contract.links.show,
  ios_app: contract.iosApps.show,
  android_app: contract.androidApps.show,
  project: contract.projects.show,
};

const notFoundStatus = 404;

async function readRecord<Kind extends RecordKind>(
  kind: Kind,
  id: string,
  { call: ask }: KeyContext,
): Promise<CallResult<Records[Kind]> | undefined> {
  const endpoint = shows[kind];
  try {
    const body: unknown = await ask<Endpoint>(endpoint, { id });
    // The client has validated the body against the endpoint's schema.
    return isJsonObject(body) ? { kind: "done", result: body as Records[Kind] } : undefined;
  } catch (error) {
    if (error instanceof Problem && error.status === notFoundStatus) return undefined;
    const end = explainEnd({ tool: endpoint.tool, endpoint }, error);
    if (end instanceof ToolFailure) return { kind: "failed", failure: end.failure };
    throw error;
  }
}

const modes: Readonly<Record<Mode, string>> = {
  "read-only": "read-only: assistants cannot change anything",
  guarded: "guarded: you approve risky changes",
  full: "full: assistants need no approval",
};

/** Describes the process without secrets. */
function describeConsole(context: AccountContext): Pick<Account, "facts" | "connection"> {
  const { config, deployment, addresses, program, version, keyContext } = context;
  const { linkHost, otherLinkHosts = [], facts } = keyContext.known;
  const isOwn = deployment.own !== undefined;
  const others = otherLinkHosts.filter((host) => host !== linkHost);
  const data = resolve(config.data);
  const isInFolder = readDatabaseUrl(config) === undefined;
  const engine = isInFolder ? "SQLite" : "PostgreSQL";
  const store = isInFolder && isOperator(context) ? shortenHome(data) : engine;
  const rows = [
    ["Link host", linkHost],
    ["Other hosts", others.length === 0 ? undefined : others.join(", ")],
    [isOwn ? "Database" : "Remote server", isOwn ? store : config.base_url],
    ["Mode", modes[config.mode]],
    ["Plan", facts?.plan],
    ["Your key", facts === undefined ? undefined : describeKey(facts)],
    ["Version", version],
  ] as const;
  // The command to start an MCP process is shown only if that process would use the same data and
  // key. A database URL must not appear in it, because it may include a password.
  const isByFolder = isOwn && isInFolder && isOwnKey(context);
  const words = [program, ...(config.isDataNamed ? ["--data", data] : [])];
  return {
    facts: rows.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const])),
    connection: {
      command: isByFolder ? words : undefined,
      mcp: addresses.mcp,
      secret: isOwn ? "your key" : "the gateway's token",
    },
  };
}

/** Shortens a path in the home folder to `~/…`. */
function shortenHome(path: string): string {
  const home = homedir();
  return path.startsWith(`${home}${sep}`) ? `~${path.slice(home.length)}` : path;
}

function describeKey({ role, scopes, kind }: NonNullable<KnownKey["facts"]>): string {
  if (kind === "master") return "master key: manages projects only";
  return describeKeyAccess(role, scopes);
}
