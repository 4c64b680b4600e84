import type { JsonObject } from "../../contract/json.ts";
import { renderField, type Field } from "../form-fields.ts";
import { html, type Html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { renderFault, renderHidden } from "../parts.ts";
import { readRecord, readRecords, readText } from "../read.ts";

/** What phones find at the links' host, and what mends it. */
export const domainPage: Page = {
  path: /^\/domain$/,
  entry: {
    name: "Domain",
    address: "/domain",
    group: "Project",
    icon: "M2.5 8a5.5 5.5 0 1 0 11 0 5.5 5.5 0 1 0-11 0M2.5 8h11M8 2.5c3.5 3.5 3.5 7.5 0 11",
  },
  needs: "check_domain",
  show: (visit) => {
    const host = visit.kept?.read("host") ?? readOwnHost(visit);
    return Promise.resolve(show(visit, { host }));
  },
  submit: look,
};

type Looked = {
  readonly host: string;
  readonly domain?: JsonObject;
  readonly fault?: string;
};

/** Nobody is asked for anything before somebody presses the button. */
async function look(visit: Visit, form: Form): Promise<Reply> {
  const host = form.read("host").trim();
  const answer = await visit.account.call("check_domain", host === "" ? {} : { host });
  if (answer.kind === "asks") return show(visit, { host });
  if (answer.kind === "failed") return show(visit, { host, fault: answer.failure.message });
  const domain = readRecord(answer.result, "domain");
  return show(visit, { host: readText(domain, "host"), domain });
}

function readOwnHost({ account: { host } }: Visit): string {
  return host === undefined ? "" : new URL(host).host;
}

const hostField: Field = {
  name: "host",
  kind: "text",
  label: "Link host",
  hint: "One of this project's link hosts. Leave it empty to check the main one.",
  isExact: true,
};

function show({ formToken }: Visit, { host, domain, fault }: Looked): Reply {
  const body = html`<div class="head"><h1>Domain</h1></div>
    ${renderFault(fault)}
    <section class="card" aria-labelledby="look">
      <h2 id="look">Check the link host</h2>
      <div class="inside">
        <p class="soft">
          Phones open an app for your links only if the link host lists the app in its association
          files. This check reads both files over the internet, as Apple and Google do. It also
          reads the copies that Apple and Google keep. It changes nothing.
        </p>
        <form method="post" action="/domain" class="stack">
          ${renderHidden("form_token", formToken)} ${renderField(hostField, { host })}
          <div class="buttons"><button class="main">Check now</button></div>
        </form>
      </div>
    </section>
    ${domain === undefined ? "" : renderReport(domain)}`;
  return { kind: "page", title: "Domain", body, status: fault === undefined ? 200 : 422 };
}

const severities: Readonly<Record<string, string>> = {
  error: "Prevents apps from opening",
  warning: "Warnings",
  info: "Good to know",
};

function renderReport(domain: JsonObject): Html {
  const findings = readRecords(domain, "findings");
  const host = readText(domain, "host");
  const others = Array.isArray(domain["other_hosts"]) ? domain["other_hosts"] : [];
  const groups = Object.entries(severities).map(([severity, title]) => {
    const own = findings.filter((finding) => readText(finding, "severity") === severity);
    return own.length === 0 ? "" : renderGroup(severity, title, own);
  });
  return html`<p role="status">
      ${
        domain["ok"] === true
          ? html`<span class="tag good">OK</span> Phones can verify apps at <bdi>${host}</bdi>.`
          : html`<span class="tag grave">Problems found</span> Some apps do not open from
              <bdi>${host}</bdi>.`
      }
    </p>
    ${groups}
    ${
      others.length === 0
        ? ""
        : html`<p class="soft">
            Other link hosts of this project:
            ${others.map((other, at) => html`${at === 0 ? "" : ", "}<bdi>${String(other)}</bdi>`)}.
          </p>`
    }`;
}

function renderGroup(severity: string, title: string, findings: readonly JsonObject[]): Html {
  const items = findings.map(
    (finding) =>
      html`<li>
        <span dir="auto">${readText(finding, "message")}</span>
        <span class="soft" dir="auto">${readText(finding, "fix")}</span>
      </li>`,
  );
  return html`<section class="card" aria-labelledby="${severity}">
    <h2 id="${severity}">${title}</h2>
    <div class="inside">
      <ul class="list">
        ${items}
      </ul>
    </div>
  </section>`;
}
