use super::*;

#[test]
fn a_secret_is_known_in_every_form_that_servers_write() {
    let secret = "sk-Ab+Cd/Ef=Gh&Ij'Kl<Mn>0123456789";
    let all = forms(secret);
    for form in [
        // Python's quote(), JavaScript's encodeURIComponent(), and in lower case.
        "sk-Ab%2BCd/Ef%3DGh%26Ij%27Kl%3CMn%3E0123456789",
        "sk-Ab%2BCd%2FEf%3DGh%26Ij%27Kl%3CMn%3E0123456789",
        "sk-Ab%2bCd/Ef%3dGh%26Ij%27Kl%3CMn%3E0123456789",
        // JSON: PHP's, Gson's, .NET's.
        "sk-Ab+Cd\\/Ef=Gh&Ij'Kl<Mn>0123456789",
        "sk-Ab+Cd/Ef\\u003dGh\\u0026Ij\\u0027Kl\\u003cMn\\u003e0123456789",
        "sk-Ab\\u002BCd/Ef=Gh\\u0026Ij\\u0027Kl\\u003cMn\\u003e0123456789",
    ] {
        assert!(all.iter().any(|known| known == form), "{form}\n{all:#?}");
    }
}
