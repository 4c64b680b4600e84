import { createHash } from "node:crypto";
import { getServers, promises } from "node:dns";

/** The TXT record that proves that a project may use a domain. */
export type DomainRecord = { readonly name: string; readonly value: string };

/**
 * Bound to the project, so that one project's record is no use to another. It is public in the DNS
 * anyway, so nothing secret goes into it, and it stays the same after a restore.
 */
export function writeDomainRecord(projectId: string, domain: string): DomainRecord {
  const digest = createHash("sha256")
    .update(JSON.stringify([projectId, domain]))
    .digest("hex");
  return { name: `_waypost.${domain}`, value: `waypost-verification=${digest.slice(0, 40)}` };
}

/** Why the record does not prove anything, as the end of a sentence; undefined where it does. */
export async function findRecordFault({ name, value }: DomainRecord): Promise<string | undefined> {
  try {
    const records = await createResolver().resolveTxt(name);
    // A long text comes in several strings.
    if (records.some((strings) => strings.join("").trim() === value)) return undefined;
    return "has a different value";
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "ENOTFOUND" || code === "ENODATA") return "does not exist";
    return `could not be looked up (${code})`;
  }
}

/** A command does not wait for a silent name server as long as Node would. */
function createResolver(): promises.Resolver {
  const resolver = new promises.Resolver({ timeout: 2000, tries: 2 });
  resolver.setServers(getServers());
  return resolver;
}
