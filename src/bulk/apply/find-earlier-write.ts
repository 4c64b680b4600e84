import { findWritten } from "../../client/find-written.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { links, type LinkFields, type ReadLink } from "../../contract/links.ts";
import type { PlanAction, PlanRow } from "../../state/plans.ts";
import type { Asking } from "../owner.ts";

/**
 * Whether a row that was sent before came through, and to which link; the client knows how to look.
 * A path or an id names one link, so that it need not be told from another's work by its age.
 */
export async function findEarlierWrite(asking: Asking, row: PlanRow): Promise<EarlierWrite> {
  const { action, link_id, path, fields } = row;
  const finding = await findWritten(chooseEndpoint(action), {
    ask: (endpoint, input) => asking.call(endpoint, input, asking.signal),
    id: link_id ?? "",
    sent: action === "create" ? { ...(fields as LinkFields), path } : (fields ?? {}),
    since: "",
    isSameTime: () => true,
  });
  if (finding.kind !== "done") return { isDone: false };
  // A link is what these endpoints answer; of a deleted one there is nothing.
  const found = finding.body as ReadLink | null;
  return { isDone: true, link: found };
}

type EarlierWrite =
  { readonly isDone: false } | { readonly isDone: true; readonly link: ReadLink | null };

function chooseEndpoint(action: PlanAction): Endpoint {
  if (action === "create") return links.upsert;
  return action === "delete" ? links.destroy : links.update;
}
