import { findRecordFault, writeDomainRecord } from "../domain-record.ts";
import { listCustomDomains } from "../../store/projects.ts";
import type { Store } from "../../store/store.ts";
import type { Note } from "./finding.ts";

/** Reports custom domains that are unverified, or that have no DNS record to prove them. */
export async function noteCustomDomains({ db }: Pick<Store, "db">, note: Note): Promise<void> {
  const projects = await listCustomDomains(db);
  const faults = await Promise.all(
    projects.map(({ id, custom_domain }) => findRecordFault(writeDomainRecord(id, custom_domain))),
  );
  for (const [index, project] of projects.entries()) {
    const warning = describeDomain(project, faults[index]);
    if (warning !== undefined) note({ about: "domains", warning });
  }
}

type Domain = Awaited<ReturnType<typeof listCustomDomains>>[number];

function describeDomain(project: Domain, fault: string | undefined): string | undefined {
  const { id, subdomain, custom_domain, custom_domain_verified } = project;
  const { name, value } = writeDomainRecord(id, custom_domain);
  const verify = `waypost projects update ${subdomain} --verify-domain`;
  if (custom_domain_verified === 1) {
    if (fault === undefined) return undefined;
    const advice = `Set it to "${value}", or ignore this warning if you used --assume-verified.`;
    return `${custom_domain} is marked as verified, but the TXT record ${name} ${fault}. ${advice}`;
  }
  const state = `${custom_domain} is not verified, so it serves no links`;
  if (fault === undefined) return `${state}. Its TXT record is correct: run ${verify}`;
  return `${state}. The TXT record ${name} ${fault}. Set it to "${value}", then run ${verify}`;
}
