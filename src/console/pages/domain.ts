import { renderField, type Field } from "../form-fields.ts";
import { html, type Part } from "../html.ts";
import type { Form, Page, Reply, PageRequest } from "../page.ts";
import { renderCard, renderForm, renderList } from "../parts.ts";
import type { ShownDomainReport } from "../records.ts";

/** Checks the link host as phones see it, and shows how to fix problems. */
export const domainPage: Page = {
  path: /^\/domain$/,
  entry: {
    name: "Domain",
    address: "/domain",
    group: "Project",
    icon: "M2.5 8a5.5 5.5 0 1 0 11 0 5.5 5.5 0 1 0-11 0M2.5 8h11M8 2.5c3.5 3.5 3.5 7.5 0 11",
  },
  needs: "check_domain",
  show: (request) => {
    const { host } = request.account;
    const own = host === undefined ? "" : new URL(host).host;
    return show(request, { host: request.kept?.read("host") ?? own });
  },
  submit: check,
};

/** Runs the check only after the user presses the button, because the check sends requests. */
async function check(request: PageRequest, form: Form): Promise<Reply> {
  const host = form.read("host").trim();
  const answer = await request.account.call("check_domain", host === "" ? {} : { host });
  if (answer.kind === "failed") return show(request, { host, fault: answer.failure.message });
  const { domain } = answer.result;
  return show(request, { host: domain.host, domain });
}

const hostField: Field = {
  name: "host",
  kind: "text",
  label: "Link host",
  hint: "One of this project's link hosts. Leave it empty to check the main one.",
  isExact: true,
};

type DomainView = {
  readonly host: string;
  readonly domain?: ShownDomainReport;
  readonly fault?: string;
};

function show(request: PageRequest, { host, domain, fault }: DomainView): Reply {
  const form = html`${renderField(hostField, { host })}
    <div class="buttons"><button class="main">Check now</button></div>`;
  const inside = html`<p class="soft">
      Phones open an app for your links only if the link host lists the app in its association
      files. This check reads both files over the internet, as Apple and Google do. It also reads
      the copies that Apple and Google keep. It changes nothing.
    </p>
    ${renderForm(request, "/domain", form)}`;
  return {
    kind: "page",
    title: "Domain",
    fault,
    body: [renderCard("Check the link host", { inside }), domain && renderReport(domain)],
  };
}

const severities = [
  ["error", "Prevents apps from opening"],
  ["warning", "Warnings"],
  ["info", "Good to know"],
] as const;

function renderReport({ host, ok, findings, other_hosts = [] }: ShownDomainReport): Part {
  const cards = severities.map(([severity, title]) => {
    const own = findings.filter((finding) => finding.severity === severity);
    const items = own.map(
      ({ message, fix }) =>
        html`<li>
          <span dir="auto">${message}</span>
          <span class="soft" dir="auto">${fix}</span>
        </li>`,
    );
    return items.length > 0 && renderCard(title, { inside: renderList(items) });
  });
  const named = html`<bdi>${host}</bdi>`;
  const others = other_hosts.map((other, at) => html`${at > 0 && ", "}<bdi>${other}</bdi>`);
  return html`<p role="status">
      ${
        ok
          ? html`<span class="tag good">OK</span> Phones can verify apps at ${named}.`
          : html`<span class="tag grave">Problems found</span> Some apps do not open from ${named}.`
      }
    </p>
    ${cards}
    ${others.length > 0 && html`<p class="soft">Other link hosts of this project: ${others}.</p>`}`;
}
