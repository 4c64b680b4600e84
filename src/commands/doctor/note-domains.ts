import type { Note } from "../../app/process/findings.ts";
import { checkOwnHost, listOwnHosts, type DomainCheck } from "../../domain/check-own-host.ts";

const members = { error: "fault", warning: "warning", info: "said" } as const;

/** What `check_domain` finds, at each of the key's own hosts, a line for each finding. */
export async function noteDomains(look: DomainCheck, note: Note): Promise<void> {
  const about = "domain";
  const listed = await listOwnHosts(look);
  if ("refused" in listed) {
    const { message, fix } = listed.refused;
    return note({ about, fault: `${message} ${fix}` });
  }
  for (const origin of listed.origins) {
    const { host, findings } = await checkOwnHost(origin, look);
    for (const { severity, message, fix } of findings) {
      const line = `${host}: ${message} ${fix}`;
      note({ about, [members[severity]]: line });
    }
    if (findings.length === 0) note({ about, said: `${host}: phones can verify the apps` });
  }
}
