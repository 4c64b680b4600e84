import { limits } from "../limits.ts";
import { makeFieldProblem, type CheckedValues, type FieldProblem } from "../problem.ts";
import type { ProjectFields } from "../projects.ts";
import { isBlank, isStorable } from "../text.ts";
import { judgeBy, type Destinations } from "./destinations.ts";
import { findAddressFault } from "./store-address.ts";
import { readUrl } from "./web-address.ts";

/**
 * The validation rules for project fields. Waypost requires name and subdomain. The API's
 * specification does not say whether they are required.
 */

export type ProjectValues = {
  readonly name: string;
  readonly subdomain: string;
  readonly custom_domain: string | null;
};

/**
 * Where visitors to the root of the project's host and to unknown paths are redirected; null means
 * no redirect.
 */
export type ProjectPages = Readonly<Record<(typeof pageFields)[number], string | null>>;

const pageFields = ["home_url", "not_found_url"] as const;

type PageRules = {
  readonly destinations: Destinations | undefined;
  /** Whether this host name serves the project's own links. */
  readonly isOwnHost: (hostname: string) => boolean;
};

const labelPattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Validates a whole project. For an update, pass the stored project with the changes applied. */
export function checkProject(fields: ProjectFields): CheckedValues<ProjectValues> {
  const values: ProjectValues = {
    name: fields.name ?? "",
    subdomain: (fields.subdomain ?? "").toLowerCase(),
    custom_domain: fields.custom_domain?.trim().toLowerCase() || null,
  };
  const problems: FieldProblem[] = [];
  const addProblem = (field: string, fault: string) =>
    problems.push(makeFieldProblem(field, fault));

  if (isBlank(values.name)) addProblem("name", "can't be blank");
  else if (!isStorable(values.name) || values.name.length > limits.name_characters) {
    addProblem("name", "is invalid");
  }
  if (isBlank(values.subdomain)) addProblem("subdomain", "can't be blank");
  else if (!labelPattern.test(values.subdomain)) addProblem("subdomain", "is invalid");
  if (values.custom_domain !== null && !isDomain(values.custom_domain)) {
    addProblem("custom_domain", "is invalid");
  }
  return { values, problems };
}

/** Validates the project's redirect URLs like a link's `url`. */
export function checkProjectPages(
  pages: Partial<ProjectPages>,
  rules: PageRules,
): readonly FieldProblem[] {
  return pageFields.flatMap((field) => {
    const address = pages[field];
    const fault = address && findPageFault(field, address, rules);
    if (!fault) return [];
    // The default name, "Not found url", would read as if the URL was not found.
    if (field === "not_found_url") return [{ field, message: `404 page ${fault}` }];
    return [makeFieldProblem(field, fault)];
  });
}

function findPageFault(
  field: string,
  address: string,
  { destinations, isOwnHost }: PageRules,
): string | undefined {
  const fault = findAddressFault(field, address);
  if (fault !== undefined) return fault;
  if (isOwnHost(readUrl(address)?.hostname ?? "")) {
    return "is on the project's own link host, so visitors would be redirected in a loop";
  }
  return destinations && judgeBy(destinations)(address);
}

function isDomain(domain: string): boolean {
  const labels = domain.split(".");
  const isNumeric = /^\d+$/.test(labels.at(-1) ?? "");
  return (
    domain.length <= 253 &&
    labels.length >= 2 &&
    !isNumeric &&
    labels.every((label) => labelPattern.test(label))
  );
}
