import { createCache } from "../store/cache.ts";
import { findLiveTemplate } from "../store/page-templates.ts";
import type * as linkPage from "../template/link-page.ts";
import type { CompiledTemplate, TemplateSource } from "../template/link-page.ts";
import type { MakePage } from "../template/page-time-slice.ts";
import type { Site } from "./sites.ts";

/** Finds and compiles a project's published template. Undefined means the starter template. */
export type TemplateFinder = (site: Site) => Promise<CompiledTemplate | undefined>;

type LiveTemplate = TemplateSource & { readonly id: string };
type LinkPageModule = typeof linkPage;
type CachedTemplate = { readonly template: CompiledTemplate | undefined };

/** A low limit, because a compiled template can be many times larger than its text. */
const mostTemplates = 100;

export function createTemplateFinder(makePage: MakePage): TemplateFinder {
  // By version ID. The cache stays valid, because published versions never change.
  const compiled = createCache<CachedTemplate>(mostTemplates);

  function compile(live: LiveTemplate, pages: LinkPageModule): CachedTemplate {
    const known = compiled.find(live.id) ?? { template: tryCompile(live, pages) };
    compiled.set(live.id, known);
    return known;
  }

  return async ({ tenant, project }) => {
    const live = project.templates_enabled ? await findLiveTemplate(tenant) : undefined;
    if (live === undefined) return undefined;
    const known = compiled.find(live.id);
    if (known !== undefined) return known.template;
    const pages = await import("../template/link-page.ts");
    return (await makePage(() => compile(live, pages))).template;
  };
}

/**
 * Returns undefined if a rule added later rejects the template. Pages then use the starter
 * template.
 */
function tryCompile(
  source: TemplateSource,
  { compileTemplate, TemplateRefused }: LinkPageModule,
): CompiledTemplate | undefined {
  try {
    return compileTemplate(source);
  } catch (error) {
    if (error instanceof TemplateRefused) return undefined;
    throw error;
  }
}
