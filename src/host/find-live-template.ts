import { createCache } from "../store/cache.ts";
import { findLiveTemplate } from "../store/page-templates.ts";
import type * as linkPage from "../template/link-page.ts";
import type { CompiledTemplate, TemplateSource } from "../template/link-page.ts";
import type { MakePage } from "../template/page-time-slice.ts";
import type { Site } from "./sites.ts";

export type TemplateFinder = (site: Site) => Promise<CompiledTemplate | undefined>;

type LiveTemplate = TemplateSource & { readonly id: string };
type Pages = typeof linkPage;
type Shown = { readonly template: CompiledTemplate | undefined };

/** Parsed, a template may be many times as large as its text. */
const mostTemplates = 100;

/** Finds the template of a project's pages; undefined is the default design. */
export function createTemplateFinder(makePage: MakePage): TemplateFinder {
  // A published version never changes.
  const compiled = createCache<Shown>(mostTemplates);

  /** Looks again, for another visitor may have had the same one compiled meanwhile. */
  function compile(live: LiveTemplate, pages: Pages): Shown {
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

/** A version that today's rules refuse does not take its project's pages down. */
function tryCompile(
  source: TemplateSource,
  { compileTemplate, TemplateRefused }: Pages,
): CompiledTemplate | undefined {
  try {
    return compileTemplate(source);
  } catch (error) {
    if (error instanceof TemplateRefused) return undefined;
    throw error;
  }
}
