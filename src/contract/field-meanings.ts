/** What a field of ours is called elsewhere, where no spelling tells it. */
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
