import * as z from "zod";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import { advise } from "../results/advice-by-code.ts";
import { refuseArguments, ToolFailure } from "../results/tool-failure.ts";
import { makeTool, readAny, type ToolCall, type Tool } from "./tool.ts";

/**
 * The tool that finds out why links on a domain do not open apps. It fetches the domain's files as
 * a phone would.
 */

const { links, iosApps, androidApps, projects } = contract;
const name = "check_domain";

export function createCheckDomain(): Tool {
  return makeTool({
    name,
    title: "Check a domain",
    description: "Find out why links on a host do not open apps.",
    group: "links",
    effect: "read",
    fields: () => ({ host: z.string().optional() }),
    result: () => ({ domain: z.looseObject({}) }),
    readAccess: readAny([links.index, iosApps.index, androidApps.index, projects.index]),
    run: ({ host }, call) => checkDomain(typeof host === "string" ? host : undefined, call),
  });
}

async function checkDomain(host: string | undefined, call: ToolCall): Promise<JsonObject> {
  const { known, access, clock, publicFiles, key_print } = call.keyContext;
  // Loaded lazily, because few sessions check a domain.
  const { checkOwnHost, chooseHost } = await import("../../domain/check-host.ts");
  const mayRead = (endpoint: Endpoint) => access.read(endpoint).state !== "denied";
  const reading = { known, call: call.keyContext.call, signal: call.signal, mayRead };
  const chosen = await chooseHost(host, reading);
  if ("refused" in chosen) {
    const { message, fix } = chosen.refused;
    throw refuseArguments(name, [{ field: "host", message, fix }]);
  }
  if (!(await publicFiles.mayAsk(key_print))) throw refuseOften();
  const { fetchFile } = publicFiles;
  const report = await checkOwnHost(chosen.origin, { ...reading, fetchFile, now: clock.now() });
  const { others } = chosen;
  return { domain: { ...report, ...(others.length > 0 && { other_hosts: others }) } };
}

function refuseOften(): ToolFailure {
  const message = "This key has used up its domain checks for this hour.";
  const next = advise("rate_limited", { tool: name });
  return new ToolFailure({ code: "rate_limited", message, effect: "none", retry: "later", next });
}
