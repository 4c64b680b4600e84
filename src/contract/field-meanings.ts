/**
 * Names that other link services use for our fields, for suggestions such as "did you mean url?".
 */
export const fieldMeanings: Readonly<Record<string, readonly string[]>> = {
  title: ["name"],
  label: ["name"],
  slug: ["path"],
  alias: ["path"],
  link: ["url"],
  href: ["url"],
  target: ["url"],
  destination: ["url"],
  host: ["subdomain", "custom_domain"],
  html: ["body"],
  content: ["body"],
  style: ["css"],
  styles: ["css"],
};
