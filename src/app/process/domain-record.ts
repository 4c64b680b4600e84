import { createHash } from "node:crypto";
import { getServers, promises } from "node:dns";

/** The TXT record that proves that a project may use a domain. */
export type DomainRecord = { readonly name: string; readonly value: string };

/**
 * Writes the record for one project, so that another project cannot use it. The DNS is public, so
 * the record contains no secret, and it stays valid after a restore.
 */
export function writeDomainRecord(projectId: string, domain: string): DomainRecord {
  const digest = createHash("sha256")
    .update(JSON.stringify([projectId, domain]))
    .digest("hex");
  return { name: `_waypost.${domain}`, value: `waypost-verification=${digest.slice(0, 40)}` };
}

/** Returns why the record proves nothing, as the end of a sentence; undefined if it is valid. */
export async function findRecordFault({ name, value }: DomainRecord): Promise<string | undefined> {
  try {
    const records = await createResolver().resolveTxt(name);
    // DNS splits a long text into several strings.
    if (records.some((strings) => strings.join("").trim() === value)) return undefined;
    return "has a different value";
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "ENOTFOUND" || code === "ENODATA") return "does not exist";
    return `could not be looked up (${code})`;
  }
}

/** A silent name server must not delay a command for as long as Node would wait. */
function createResolver(): promises.Resolver {
  const resolver = new promises.Resolver({ timeout: 2000, tries: 2 });
  resolver.setServers(getServers());
  return resolver;
}
