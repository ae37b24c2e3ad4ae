//! Whom a machine's programs trust: as on the host, whose list may have a company's authority that looks into TLS.

use crate::support::{Authority, Backend, Sandbox, Server, Shared};

pub(crate) const SHARED: &[Shared] = &[Shared {
    name: "an_authority_of_the_hosts_list_is_trusted_where_nothing_is_looked_into",
    test: an_authority_of_the_hosts_list_is_trusted_where_nothing_is_looked_into,
    gap: None,
}];

fn an_authority_of_the_hosts_list_is_trusted_where_nothing_is_looked_into(on: Backend) {
    let sandbox = Sandbox::on(on);
    let scratch = sandbox.scratch();
    let authority = Authority::new(scratch, &["company.test"]);
    scratch.write("sites/company.test/page", "the page");
    let sites = scratch.root().join("sites");
    let server = Server::start(scratch, &sites, &authority);
    let policy = format!(
        "extends = [\"default\"]\n[network.hosts]\n\"company.test\" = \"127.0.0.1:{}\"\n",
        server.https
    );
    scratch.write("company.toml", policy);
    let said = sandbox
        .elsewhere(&format!(
            r#"
list=/etc/ssl/certs/ca-certificates.crt
cat $list {} > "$ROOT/list"
mount --bind "$ROOT/list" $list || exit 99
bw run --backend vm --memory=512MiB --policy "$ROOT/company.toml" -c '
    curl -sS https://company.test/page && echo " by curl"
    node -e "fetch(\"https://company.test/page\").then(r => r.text()).then(t => console.log(t, \"by node\"))"'"#,
            authority.certificate.display()
        ))
        .stdout();
    for client in ["curl", "node"] {
        assert!(said.contains(&format!("the page by {client}\n")), "{said}");
    }
}
