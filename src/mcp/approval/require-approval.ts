import type { Approval } from "../../state/approvals.ts";
import type { State } from "../../state/state.ts";
import { hashValue } from "../../text/digest.ts";
import { advise } from "../results/advice-by-code.ts";
import { ToolFailure } from "../results/tool-failure.ts";
import type { Mode } from "../../contract/rights.ts";
import { fitsText, writeQuestion } from "./question-text.ts";
import type { ApprovalRequest, Asker, Question, StoredQuestion } from "./question.ts";

/** Throws unless a user has approved the request. See docs/approval.md. */
export type RequireApproval = (
  request: ApprovalRequest,
  key: AskingKey,
  person: Person,
) => Promise<void>;

/**
 * The requesting key, identified by a hash. `realm` is the ID of the key's project or, if unknown,
 * the server's origin.
 */
type AskingKey = { readonly key_print: string; readonly realm: string };

/** How the user of the calling client can be asked, and what the user has answered. */
export type Person = Asker & {
  /** Whether the client declares that it can show a form. */
  readonly canAnswer: boolean;
  /** Whether the client declares that it can open a URL. */
  readonly canOpen: boolean;
  /** The user's answer to an earlier question of this call, if any. */
  readonly answer: PersonAnswer | undefined;
  /** The ID of the approval that was decided on its page while this call waited. */
  readonly waited: string | undefined;
};

/** The `Person` for a client that can neither show a form nor open a page. */
export const noPerson = {
  canAnswer: false,
  canOpen: false,
  answer: undefined,
  waited: undefined,
} as const satisfies Person;

export type PersonAnswer = {
  /**
   * The approval's ID. The client receives it with the question and sends it back with the answer.
   */
  readonly token: string;
  /**
   * `yes` and `unticked` are answers in a form. `opened`: the client opened the approval page, and
   * the decision there is unknown. `nothing`: no user saw the question.
   */
  readonly kind: "yes" | "no" | "unticked" | "opened" | "nothing";
  /** The number that the user typed, if the question requires one. */
  readonly count?: number | undefined;
};

type WaitingQuestion = {
  /** The approval's ID. It cannot be guessed, so it authenticates the answer. */
  readonly id: string;
  readonly question: Question;
  /**
   * Set if the user is asked on the approval page instead of in a form. `isOpened` is true if the
   * client's last answer says that the client has opened that page.
   */
  readonly page?: { readonly url: string; readonly isOpened: boolean };
};

/** Thrown before a tool changes anything, because the client must ask the user first. */
export class PendingQuestion extends Error {
  override readonly name = "PendingQuestion";
  readonly waiting: WaitingQuestion;

  constructor(waiting: WaitingQuestion) {
    super(waiting.question.title);
    this.waiting = waiting;
  }
}

type ApprovalOptions = {
  readonly mode: Mode;
  /**
   * Returns the hash of the PIN if the operator has set one. Users must then approve on the page,
   * because an assistant may control the forms of its client.
   */
  readonly readPin: () => Promise<string | undefined>;
  readonly openState: () => Promise<State>;
  /**
   * Starts serving an approval's page and returns its URL. Throws NoApprovalPage if this process
   * cannot serve pages.
   */
  readonly openPage: (id: string) => Promise<string>;
  /**
   * Whether the request comes from a user in the console. Such a request never shares an approval
   * with a request from an assistant.
   */
  readonly isByHand?: boolean;
};

type PendingRequest = ApprovalOptions & {
  readonly request: ApprovalRequest;
  readonly digest: string;
  readonly key: AskingKey;
  readonly person: Person;
  readonly pin: string | undefined;
};

export function createRequireApproval(options: ApprovalOptions): RequireApproval {
  const { mode, readPin, openState, isByHand } = options;
  return async (request, key, person) => {
    if (mode === "full") return;
    const digest = digestRequest(request, key, isByHand);
    const pin = await readPin();
    const pending = { ...options, request, digest, key, person, pin };
    const { answer, canAnswer } = person;
    // A question that is too long for a form is shown on the page.
    const isForm = canAnswer && pin === undefined && fitsText(request.question);
    const ask = () => (isForm ? askByForm(pending) : askByPage(pending));
    // If a PIN is required, a form can be used only to decline.
    const isLocked = pin !== undefined && answer?.kind === "yes";
    if (answer === undefined || answer.kind === "opened" || isLocked) return ask();
    const { approvals } = await openState();
    // Every answer uses up its token, so no answer counts twice.
    const isApproved = await approvals.takeForToken(answer.token, digest);
    // If the client never showed the question, the assistant gives the page's URL to the user.
    if (answer.kind === "nothing") {
      return askByPage({ ...pending, person: { ...person, canOpen: false } });
    }
    requireApprovedForm(request, answer);
    if (isApproved) return;
    if (await approvals.isCurrent(answer.token, digest)) {
      throw refuseDeclined(request, "This approval was already used.");
    }
    // The target has changed or the question has expired, so the user is asked again.
    return ask();
  };
}

async function askByForm({ request, digest, openState }: PendingRequest): Promise<void> {
  const { question } = request;
  const { approvals } = await openState();
  // This approval has no page, so only its title is stored.
  const preview = JSON.stringify({ title: question.title });
  const { id } = await approvals.openForToken({ digest, preview });
  throw new PendingQuestion({ id, question });
}

/** Throws unless the user has approved on the page. The approval is valid for one call. */
async function askByPage(pending: PendingRequest): Promise<void> {
  const { request, digest, key, person, pin, openState, isByHand = false } = pending;
  const { question } = request;
  const { approvals } = await openState();
  const asked = await approvals.askPage({
    digest,
    preview: storeQuestion(question, person, isByHand),
    key_print: key.key_print,
    pin,
    waited: person.waited,
    // Requests from the console trigger no webhook, because the user is already present.
    event: isByHand ? undefined : { realm: key.realm, headline: question.title },
  });
  if ("waits" in asked) throw await referToPage(pending, asked.waits);
  if (asked.decision === "declined") {
    throw refuseDeclined(request, "The user declined this on the approval page.");
  }
  if (asked.decision === "used") {
    throw refuseDeclined(request, "This approval was already used for the same call.");
  }
}

/**
 * Returns a digest that identifies a request. Two calls of one key with the same digest are the
 * same request. Requests from the console never share a digest with those of assistants.
 */
export function digestRequest(
  request: ApprovalRequest,
  { key_print, realm }: AskingKey,
  isByHand = false,
): string {
  const { tool, args, target, state } = request;
  const door = isByHand ? ["by hand"] : [];
  return hashValue([key_print, realm, tool, args, target, state, ...door]);
}

function storeQuestion(
  question: Question,
  { client, place, key }: Asker,
  isByHand: boolean,
): string {
  // Plan rows are not stored, because the page reads them from the plan.
  const facts = question.facts.filter(({ isRow }) => isRow !== true);
  const stored: StoredQuestion = { ...question, facts, asker: { client, place, key }, isByHand };
  return JSON.stringify(stored);
}

/**
 * Returns the error that makes the client open the approval page. If the client cannot do that, the
 * error makes the assistant give the page's URL to the user.
 */
async function referToPage(
  { request, person: { canOpen, answer }, openPage }: PendingRequest,
  approval: Approval,
): Promise<Error> {
  const { id } = approval;
  try {
    const url = await openPage(id);
    if (!canOpen) return refuseUnapproved(request, approval, url);
    const isOpened = answer?.kind === "opened" && answer.token === id;
    return new PendingQuestion({ id, question: request.question, page: { url, isOpened } });
  } catch (error) {
    if (error instanceof NoApprovalPage) return refuseUnapproved(request, approval, error);
    throw error;
  }
}

/**
 * Throws unless the user approved in the form. If the user did not tick the box, the assistant may
 * ask again, because the user may have overlooked it.
 */
function requireApprovedForm(request: ApprovalRequest, { kind, count }: PersonAnswer): void {
  const { tool, question } = request;
  if (kind === "unticked") {
    throw refuseDeclined(
      request,
      "The Approve box in the form was not ticked, so nothing was done.",
      `Ask the user whether to call ${tool} again. To approve, they tick "Approve" in the form ` +
        "before they accept it.",
    );
  }
  if (kind !== "yes") throw refuseDeclined(request, "The user did not approve.");
  if (question.count !== undefined && count !== question.count) {
    throw refuseDeclined(request, `The user did not type the number ${question.count}.`);
  }
}

const declined = "approval_declined";

function refuseDeclined(
  { tool }: ApprovalRequest,
  message: string,
  next = advise(declined, { tool }),
): ToolFailure {
  return new ToolFailure({ code: declined, message, effect: "none", retry: "never", next });
}

/**
 * Thrown if the approval page cannot be served, because this process is not allowed to listen on a
 * port.
 */
export class NoApprovalPage extends Error {
  override readonly name = "NoApprovalPage";
  /** The command that a user can run to serve the page. */
  readonly serveCommand: string;

  constructor(serveCommand: string) {
    super("this process may not open a port");
    this.serveCommand = serveCommand;
  }
}

function refuseUnapproved(
  { tool, question }: ApprovalRequest,
  { expires_at }: Approval,
  page: string | NoApprovalPage,
): ToolFailure {
  const until = new Date(expires_at).toISOString();
  const approval = { preview: writeQuestion(question), expires_at: until };
  const waits = { code: "approval_required", effect: "none", retry: "later" } as const;
  const first = "A person has to approve this first";
  if (typeof page === "string") {
    return new ToolFailure({
      ...waits,
      message: `${first}.`,
      approval: { ...approval, url: page },
      next:
        "Give the user approval.url to open in a browser. When they have approved, " +
        `call ${tool} again with the same arguments.`,
    });
  }
  return new ToolFailure({
    ...waits,
    message: `${first}, but WAYPOST_SERVE is off, so no approval page can be shown.`,
    approval,
    next:
      `Tell the user to run \`${page.serveCommand}\`, which serves the page. While it runs, ` +
      `call ${tool} again with the same arguments.`,
  });
}

export type Decisions = Readonly<Record<"given" | "refused", number>>;

export function countDecisions(requireApproval: RequireApproval, mode: Mode) {
  const decisions = { given: 0, refused: 0 };
  const counting: RequireApproval = async (...asked) => {
    try {
      await requireApproval(...asked);
      if (mode !== "full") decisions.given += 1;
    } catch (error) {
      const isDeclined = error instanceof ToolFailure && error.failure.code === declined;
      if (isDeclined) decisions.refused += 1;
      throw error;
    }
  };
  return { requireApproval: counting, measure: () => ({ ...decisions }) };
}
