import { createHash } from "node:crypto";
import { getServers, promises } from "node:dns";

/** The DNS TXT record that proves that a project may use a domain. */
export type DomainRecord = { readonly name: string; readonly value: string };

/**
 * Builds the record for a project and its domain. No other project can use the record. DNS is
 * public, so the record contains no secret. The record stays valid after a restore from a backup.
 */
export function writeDomainRecord(projectId: string, domain: string): DomainRecord {
  const digest = createHash("sha256")
    .update(JSON.stringify([projectId, domain]))
    .digest("hex");
  return { name: `_waypost.${domain}`, value: `waypost-verification=${digest.slice(0, 40)}` };
}

/**
 * Returns what is wrong with the DNS record, worded to complete a sentence. Returns undefined if
 * the record is valid.
 */
export async function findRecordFault({ name, value }: DomainRecord): Promise<string | undefined> {
  try {
    const records = await createResolver().resolveTxt(name);
    // DNS splits long text into several strings, so they are joined.
    if (records.some((strings) => strings.join("").trim() === value)) return undefined;
    return "has a different value";
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "ENOTFOUND" || code === "ENODATA") return "does not exist";
    return `could not be looked up (${code})`;
  }
}

/** Limits the wait for a name server that does not respond. Node would wait much longer. */
function createResolver(): promises.Resolver {
  const resolver = new promises.Resolver({ timeout: 2000, tries: 2 });
  resolver.setServers(getServers());
  return resolver;
}
