import { type Config, UsageFault } from "../../config.ts";
import type { SignInOptions } from "../../console/sign-in.ts";
import { createHost, type HostOptions } from "../../host/host.ts";
import { noListeners, printKey, type KeyContext } from "../../mcp/access/key-context.ts";
import { approvalPath, type ApprovalPages } from "../../mcp/approval/approval-page.ts";
import { createRequireApproval } from "../../mcp/approval/require-approval.ts";
import { previewPath } from "../../mcp/previews/preview-pages.ts";
import { once } from "../../contract/waiting.ts";
import type { TrustedProxies } from "../../network/client-address.ts";
import { isLoopbackHost } from "../../network/ip-address.ts";
import { findConsolePathFile, keepText, prepareDataFolder } from "../data/data-folder.ts";
import { checkPin, openOwnPin } from "../data/pin-file.ts";
import { readIfThere } from "../data/secrets.ts";
import type { RequestHandlers, HttpFetch } from "../http/http-server.ts";
import type { Assistant } from "../process/assistant.ts";
import { clock, random } from "../process/embedded.ts";
import { warnOfOutages, explainStoreFault } from "../process/explain-store-fault.ts";
import type { Log } from "../process/log.ts";
import type { Watches } from "../process/watch-work.ts";
import { createAccount } from "./account.ts";
import type { ConsoleParts } from "./parts.ts";

/** Creates the handlers that HTTP and stdio processes share: links, approval pages and console. */

export type BrowserParts = ConsoleParts &
  Watches & {
    readonly config: Config;
    readonly log: Log;
    readonly assistant: Pick<Assistant, "openPreviewPages">;
    readonly approvals: ApprovalPages;
    /** The origin of links is null if a remote server serves them. */
    readonly addresses: { readonly links: string | null };
    readonly findCountry: HostOptions["findCountry"];
    readonly trustedProxies: TrustedProxies | undefined;
  };

export function createBrowserHandlers(parts: BrowserParts) {
  const { deployment, config, report, hostnames, assistant, trustedProxies } = parts;
  const { own } = deployment;
  const host =
    own &&
    createHost({
      ...own,
      linkOrigin: parts.addresses.links ?? "",
      secondOrigin: config.second_origin,
      trustedProxies,
      findCountry: parts.findCountry,
      clock,
      random,
      report: warnOfOutages(report, parts.log.warn),
    });
  return {
    console: createConsolePages(parts),
    pages: {
      [approvalPath]: parts.approvals.fetch,
      [previewPath]: assistant.openPreviewPages(hostnames).fetch,
    },
    links: host,
    watchVisit: parts.watchVisit,
    hostnames,
    trustedProxies,
  } satisfies Partial<RequestHandlers>;
}

/** The maximum number of keys whose contexts are cached between requests. */
const mostKeys = 50;

/** Returns undefined if the console is off. The first request loads the console's code. */
function createConsolePages(parts: ConsoleParts): HttpFetch | undefined {
  const { config } = parts;
  if (!config.console) return undefined;
  const open = once(() => openConsole(parts));
  return async (request, address, incoming) => (await open()).fetch(request, address, incoming);
}

async function openConsole(parts: ConsoleParts) {
  const { config, hostnames, consoleCommand, report } = parts;
  const { state } = parts.deployment;
  const { createConsole } = await import("../../console/console.ts");
  const readPin = once(() => openOwnPin(config));
  const identify = createIdentify(parts, readPin);
  return createConsole({
    identify,
    openBase: once(() => openBasePath(config)),
    secretName: config.base_url === undefined ? "API key" : "gateway token",
    consoleCommand,
    openRows: async () => (await state.open()).kept,
    takeTry: async (secret, address) =>
      (await state.open()).counters.take({ [`sign_in_by_${secret}`]: address }),
    readPinCheck: async () => {
      const hash = await readPin();
      return hash === undefined ? undefined : (pin) => checkPin(pin, hash);
    },
    hostnames,
    publicUrl: config.public_url,
    clock,
    explainStoreFault,
    report,
  });
}

/**
 * Returns the console's base path. Without a public URL, the path is random and kept in a file.
 * Browsers separate cookies by path but not by port, so other programs on this machine cannot get
 * the console's cookie without the path.
 */
function openBasePath({ console_path, public_url, data }: Config): string {
  if (console_path !== undefined) return console_path;
  if (public_url !== undefined && !isLoopbackHost(new URL(public_url).hostname)) return "";
  prepareDataFolder(data);
  const file = findConsolePathFile(data);
  const made = `/console-${Buffer.from(random.bytes(12)).toString("base64url")}`;
  const kept = readIfThere(file) ?? keepText(file, made);
  if (/^\/console-[\w-]{16}$/.test(kept)) return kept;
  throw new UsageFault(`${file} contains no path; move the file away and start Waypost again`);
}

function createIdentify(
  parts: ConsoleParts,
  readPin: () => Promise<string | undefined>,
): SignInOptions["identify"] {
  const { assistant, deployment } = parts;
  // The console asks for approval of risky changes, even if assistants need none in full mode.
  const requireApproval = createRequireApproval({
    mode: "guarded",
    readPin,
    openState: deployment.state.open,
    // The console shows the question on its own page, so the ID replaces the URL.
    openPage: (id) => Promise.resolve(id),
    isByHand: true,
  });
  const contexts = new Map<string, KeyContext>();
  return async (secret, address) => {
    const caller = await parts.identify(secret);
    if (caller === undefined) return undefined;
    const print = printKey(caller.key);
    const keyContext =
      contexts.get(print) ?? assistant.createKeyContext({ ...caller, via: "console" }, noListeners);
    contexts.delete(print);
    contexts.set(print, keyContext);
    const [oldest] = contexts.size > mostKeys ? contexts.keys() : [];
    if (oldest !== undefined) contexts.delete(oldest);
    await keyContext.readListening();
    await keyContext.renew();
    // For a remote server, this detects the key's permissions.
    await keyContext.exploreForList();
    return createAccount({ ...parts, keyContext, requireApproval, readPin, address });
  };
}
