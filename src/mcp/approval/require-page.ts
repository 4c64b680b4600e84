import type { Approval } from "../../state/approvals.ts";
import type { State } from "../../state/state.ts";
import {
  NowhereToAsk,
  refuseDeclined,
  refuseUnapproved,
  refuseUnasked,
} from "./approval-failures.ts";
import type { ApprovalRequest, Preview } from "./approval-request.ts";
import { readToken, sealToken } from "./approval-token.ts";
import type { StoredPreview } from "./page.ts";
import { PersonAsked, type Asker, type Person } from "./person-asked.ts";

export type PageOptions = {
  /** Opened by the first approval: most sessions destroy nothing. */
  readonly openState: () => Promise<State>;
  /** The address of an approval's page, which is open from now on; or throws NowhereToAsk. */
  readonly openPage: (id: string) => Promise<string>;
  /** Whether a person acts by hand, at the console: its questions are apart from assistants'. */
  readonly isByHand?: boolean;
};

/** One question to a person. */
export type Asking = {
  readonly request: ApprovalRequest;
  readonly digest: string;
  readonly keyPrint: string;
  /** The key's project, or else the deployment. */
  readonly realm: string;
  readonly person: Person;
  /** The hash of the PIN that the page is to ask for. */
  readonly pin: string | undefined;
};

/** Throws until a person has approved of the request on its page, and for one call alone. */
export function createRequirePage({
  openState,
  openPage,
  isByHand = false,
}: PageOptions): (asking: Asking) => Promise<void> {
  return async ({ request, digest, keyPrint, realm, person, pin }) => {
    const { approvals } = await openState();
    const { client, place, key, waited } = person;
    const asker: Asker = { client, place, key };
    const shown = { ...storePreview(request.preview, asker), ...(isByHand && { isByHand }) };
    const preview = JSON.stringify(shown);
    // Whoever acts by hand is there already.
    const told = isByHand ? undefined : { realm, headline: request.preview.title };
    const wanted = { digest, preview, key_print: keyPrint, pin, waited, told };
    const asked = await approvals.askPage(wanted);
    if ("waits" in asked) throw await showPage(request, digest, person, asked.waits);
    if (asked.said === "declined") {
      throw refuseDeclined(request, "The user declined this on the approval page.");
    }
    if (asked.said === "used") {
      throw refuseDeclined(request, "This approval was already used for the same call.");
    }
  };

  /** To the client, where it can open the page; else to the assistant, which passes it on. */
  async function showPage(
    request: ApprovalRequest,
    digest: string,
    { canOpen, answer }: Person,
    { id, expires_at }: Approval,
  ): Promise<Error> {
    const url = await openPage(id).catch((error: unknown) => {
      throw error instanceof NowhereToAsk ? refuseUnasked(request, error, expires_at) : error;
    });
    if (!canOpen) return refuseUnapproved(request, { url, expires_at });
    const brought = await readToken(answer?.token, openState);
    const isOpened = answer?.said === "opened" && brought?.id === id;
    const token = await sealToken({ id, digest, expires_at }, openState);
    const message = `${request.preview.title}\n\n${askToDecide}`;
    return new PersonAsked(message, token, { page: { id, url, isOpened } });
  }
}

/** The rows of a plan are long, and its page reads them from the plan. */
function storePreview(preview: Preview, asker: Asker): StoredPreview {
  if (preview.rows === undefined) return { ...preview, asker };
  return { ...preview, facts: preview.facts.filter(({ isRow }) => isRow !== true), asker };
}

const askToDecide = "The page shows what will happen. Approve or decline it there.";
