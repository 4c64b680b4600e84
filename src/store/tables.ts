/**
 * The rows as they lie in the database, the same in every engine: flags are 0 or 1, times are
 * milliseconds since 1970, lists are JSON text. `_lc` columns hold the folded text that `cont`,
 * `start` and sorting look at.
 */
export type Tables = {
  readonly projects: ProjectTable;
  readonly tallies: TallyTable;
  readonly api_keys: KeyTable;
  readonly links: LinkTable;
  readonly addresses: AddressTable;
  readonly ios_apps: IosAppTable;
  readonly android_apps: AndroidAppTable;
  readonly chores: ChoreTable;
  readonly page_templates: PageTemplateTable;
  readonly page_template_versions: PageTemplateVersionTable;
};

type Flag = 0 | 1;

export type ProjectTable = {
  readonly id: string;
  readonly name: string;
  readonly subdomain: string;
  readonly custom_domain: string | null;
  readonly custom_domain_verified: Flag;
  readonly plan: "free" | "pro";
  readonly templates_enabled: Flag;
  readonly link_in_referrer: Flag;
  readonly max_links: number;
  readonly suspended: Flag;
  readonly created_at: number;
  readonly updated_at: number;
};

/** What changes with every link write, kept apart from what people edit. */
export type TallyTable = {
  readonly project_id: string;
  readonly links: number;
  /** Goes up with every write to the project's links or apps: counted lists are valid for one. */
  readonly generation: number;
  /** Links up to this id are in the project's trigram index; null where there is none. */
  readonly indexed_to: string | null;
  /** Goes up when visits are written down: what was counted by clicks is valid for one. */
  readonly clicked: number;
};

type KeyTable = {
  readonly id: string;
  /** Null for a master key. */
  readonly project_id: string | null;
  readonly token_hash: string;
  readonly scopes: string;
  readonly role: "viewer" | "manager" | "owner";
  readonly created_at: number;
  readonly updated_at: number;
};

export type LinkTable = {
  /** SQLite's own row number, by which the trigram index finds a link. Never seen outside. */
  readonly rowkey?: number;
  readonly project_id: string;
  readonly id: string;
  readonly name: string | null;
  readonly name_lc: string | null;
  readonly path: string;
  readonly path_lc: string;
  readonly shortened_path: string | null;
  readonly shortened_path_lc: string | null;
  readonly url: string | null;
  readonly social_title: string | null;
  readonly social_description: string | null;
  readonly social_image_url: string | null;
  readonly ios_fallback_url: string | null;
  readonly android_fallback_url: string | null;
  readonly enable_forced_redirect: Flag;
  readonly referrer: string | null;
  readonly ios_deferred_deep_linking_enabled: Flag;
  readonly provider_token: string | null;
  readonly campaign_token: string | null;
  readonly ios_app_id: string | null;
  readonly android_app_id: string | null;
  readonly clicks: number;
  readonly created_via: string;
  readonly created_at: number;
  readonly updated_at: number;
};

/** The one namespace of a project's paths and shortened paths: who answers at an address. */
type AddressTable = {
  readonly project_id: string;
  readonly address: string;
  readonly link_id: string;
};

export type IosAppTable = {
  readonly project_id: string;
  readonly id: string;
  readonly name: string | null;
  readonly name_lc: string | null;
  readonly bundle_id: string;
  readonly bundle_id_lc: string;
  readonly team_id: string;
  readonly team_id_lc: string;
  readonly app_store_id: string | null;
  readonly clip_bundle_id: string | null;
  readonly clip_bundle_id_lc: string | null;
  readonly custom_scheme: string | null;
  readonly custom_scheme_lc: string | null;
  readonly created_at: number;
  readonly updated_at: number;
};

export type AndroidAppTable = {
  readonly project_id: string;
  readonly id: string;
  readonly name: string | null;
  readonly name_lc: string | null;
  readonly package_name: string;
  readonly package_name_lc: string;
  readonly fingerprints: string;
  readonly custom_scheme: string | null;
  readonly custom_scheme_lc: string | null;
  readonly created_at: number;
  readonly updated_at: number;
};

export type PageTemplateTable = {
  readonly project_id: string;
  readonly id: string;
  /** The draft. */
  readonly body: string;
  readonly css: string;
  /** The version that links show; null where they show the default page. */
  readonly live_id: string | null;
  readonly created_at: number;
  readonly updated_at: number;
};

type PageTemplateVersionTable = {
  readonly project_id: string;
  readonly id: string;
  /** Counts a project's versions from 1: two may be published in the same millisecond. */
  readonly number: number;
  readonly body: string;
  readonly css: string;
  readonly published_at: number;
};

/** Long work that was decided on in one transaction and is done in many short ones. */
export type ChoreTable = {
  readonly kind: "purge_project" | "detach_ios_app" | "detach_android_app" | "index_project";
  readonly project_id: string;
  /** The app to detach; empty for the other kinds. */
  readonly subject: string;
};
