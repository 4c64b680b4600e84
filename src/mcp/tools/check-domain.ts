import * as z from "zod";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import type { Access, Reading } from "../access/key-access.ts";
import { advise } from "../results/advice-by-code.ts";
import { explainEnd, refuseArguments, ToolFailure } from "../results/tool-failure.ts";
import { checkArguments } from "../schemas/check-arguments.ts";
import { buildBothSchemas, buildInput } from "../schemas/input-schema.ts";
import { once } from "../schemas/once.ts";
import { buildOutputSchema } from "../schemas/output-schema.ts";
import { annotate, type Call, type Tool } from "./tool.ts";

const { links, iosApps, androidApps, projects } = contract;
const name = "check_domain";
const fields = { host: z.string().optional() };
const result = { domain: z.looseObject({}) };

/** The tool that tells why a domain opens no apps: it looks there as phones do. */
export function createCheckDomain(): Tool {
  const schema = once(() => buildInput(fields));
  return {
    name,
    title: "Check a domain",
    description: "Find out why links on a host do not open apps.",
    group: "links",
    effect: "read",
    annotations: annotate({ effect: "read", idempotent: true, overwrites: false }),
    inputSchema: buildBothSchemas(() => fields, []),
    outputSchema: once(() => buildOutputSchema(result)),
    readAccess,
    check: (given) => checkArguments(name, schema(), given),
    run: async ({ host }, call) => {
      try {
        return await look(typeof host === "string" ? host : undefined, call);
      } catch (error) {
        throw explainEnd({ tool: name }, error);
      }
    },
  };
}

/** Whoever may read anything of what makes the files. */
function readAccess(access: Access): Reading {
  const entries = [iosApps.index, androidApps.index, links.index, projects.index];
  const readings = entries.map((entry) => access.read(entry));
  const states = new Set(readings.map(({ state }) => state));
  const best = (["granted", "unknown"] as const).find((state) => states.has(state));
  return best === undefined ? access.read(links.index) : { state: best };
}

async function look(host: string | undefined, { keyContext, signal }: Call) {
  const { known, call, access, clock, publicFiles, key_print } = keyContext;
  // Few sessions ever look.
  const { checkOwnHost, chooseHost } = await import("../../domain/check-own-host.ts");
  const mayRead = (endpoint: Endpoint) => access.read(endpoint).state !== "denied";
  const reading = { known, call, signal, mayRead };
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
