import { explainOutage, readOutageCode, type Outage } from "../../contract/problem.ts";
import { readOutage } from "../../state/state.ts";
import { renderNotice } from "./page-html.ts";

/** What a person is shown in place of a page whose making failed. */
type PageFault = {
  readonly status: number;
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
};

/** `kept` says what has not happened, as far as that is known. */
export function explainPageFault(
  error: unknown,
  kept: string,
  report: (error: unknown) => string,
): PageFault {
  const outage = readOutage(error);
  if (outage !== undefined) return describeOutage(outage, kept);
  const text = `${kept} Open the address again. Reference: ${report(error)}.`.trim();
  return { status: 500, html: renderNotice("Something went wrong", text), headers: {} };
}

function describeOutage(outage: Outage, kept: string): PageFault {
  const problem = explainOutage(outage);
  const [title, text] =
    outage === "unknown"
      ? ["Your answer may not have been saved", lookAgain]
      : [titles[outage], `${kept} Open the address again in a moment.`.trim()];
  const html = renderNotice(title, `${text} (${readOutageCode(problem)})`);
  return { status: problem.status, html, headers: problem.headers };
}

const titles = {
  busy: "The database is busy",
  locked: "The database is locked",
  away: "The database is not responding",
} as const;

const lookAgain =
  "The database stopped responding while your answer was being saved. Open the address again " +
  "to see whether it was saved.";
